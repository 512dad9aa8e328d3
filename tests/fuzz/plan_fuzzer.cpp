#include "check_costs.hpp"
#include "fuzz.hpp"

using namespace pptrain;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parse = [](const std::string& text) {
    Plan plan = parse_plan(text, "fuzzed");
    check_costs(plan);
    return plan;
  };
  check_round_trip(text_of(data, size), parse, write_plan);
  return 0;
}
