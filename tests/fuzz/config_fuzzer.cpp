#include "config/read.hpp"
#include "fuzz.hpp"

using namespace pptrain;

/// The first line, where it starts with "--set ", is an override of the command line; the rest is
/// the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parse = [](const std::string& text) {
    const std::string option = "--set ";
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::vector<std::string> overrides;
    if (text.starts_with(option))
      overrides.push_back(text.substr(option.size(), end - option.size()));
    const std::string file = overrides.empty() ? text : text.substr(end);
    return parse_config(file, "fuzzed", "nowhere", overrides);
  };
  check_round_trip(text_of(data, size), parse, write_config);
  return 0;
}
