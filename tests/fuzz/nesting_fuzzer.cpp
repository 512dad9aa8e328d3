#include <fuzzer/FuzzedDataProvider.h>

#include <functional>
#include <vector>

#include "config/read.hpp"
#include "fuzz.hpp"
#include "plan/plan.hpp"
#include "profile/profile.hpp"
#include "text/json_text.hpp"
#include "text/tokenizer.hpp"
#include "weights/config_json.hpp"

using namespace pptrain;

namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

using Reader = std::function<void(const std::string&)>;

/// All that reads a text with levels.
const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      [](const std::string& text) { parse_config(text, "fuzzed", "nowhere", {}); },
      [](const std::string& text) { parse_config("", "fuzzed", "nowhere", {text}); },
      [](const std::string& text) { parse_plan(text, "fuzzed"); },
      [](const std::string& text) { parse_profile(text, "fuzzed"); },
      [](const std::string& text) { ConfigJson::parse(text, "fuzzed").finish({}); },
      [](const std::string& text) { Tokenizer::parse(text, "fuzzed").encode("a"); },
      [](const std::string& text) {
        texts_of_json_line(text, {"text", "a.a"}, "fuzzed", "--json-key");
      }};
  return all;
}

}  // namespace

/// A reader, and a text in which two parts come many times over, more than a fuzzer writes by
/// itself: what is nested, or listed, without end is refused by `Error` or read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t longest_text = 400'000;
  FuzzedDataProvider input(data, size);
  const Reader& read =
      readers()[input.ConsumeIntegralInRange<std::size_t>(0, readers().size() - 1)];
  const std::string before = input.ConsumeRandomLengthString(400),
                    open = input.ConsumeRandomLengthString(80);
  const std::string inside = input.ConsumeRandomLengthString(200),
                    close = input.ConsumeRandomLengthString(80);
  const std::size_t most = longest_text / std::max<std::size_t>(open.size() + close.size(), 1);
  const std::size_t times =
      input.ConsumeIntegralInRange<std::size_t>(0, std::min<std::size_t>(most, 100'000));
  const std::string text = before + repeated(open, times) + inside + repeated(close, times) +
                           input.ConsumeRemainingBytesAsString();
  try {
    read(text);
  } catch (const Error& error) {
    PPTRAIN_ASSERT(error.code() == ExitCode::bad_input, "{}", error.what());
  }
  return 0;
}
