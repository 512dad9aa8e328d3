#include "program/trace.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "support/catch.hpp"

namespace pptrain {
namespace {

Trace one_task(int device, double begin) {
  Instruction instruction;
  return {{DeviceId(device), Lane::compute, instruction, begin, begin + 0.5}};
}

TEST_CASE("the traces of ranks are merged into one with all their events") {
  const std::string merged = merge_chrome_traces({chrome_trace(one_task(0, 1.0)), chrome_trace(one_task(3, 2.0))});
  std::map<int, double> begins;
  const nlohmann::json document = nlohmann::json::parse(merged);
  for (const auto& event : document.at("traceEvents")) {
    if (event.at("ph") == "X") begins[event.at("pid").get<int>()] = event.at("ts").get<double>();
  }
  CHECK(begins == std::map<int, double>{{0, 1e6}, {3, 2e6}});
}

}  // namespace
}  // namespace pptrain
