#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"

/// What libFuzzer calls with one input after another.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace pptrain {

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Text that `parse` refuses with `Error` is fine; what it accepts must come back from `write` as
/// it was, and be accepted again. Everything else ends the fuzzer.
template <class Parse, class Write>
void check_round_trip(const std::string& text, const Parse& parse, const Write& write) {
  std::string once;
  try {
    once = write(parse(text));
  } catch (const Error&) {
    return;
  }
  const std::string twice = write(parse(once));
  PPTRAIN_ASSERT(once == twice, "written:\n{}\nread and written again:\n{}", once, twice);
}

}  // namespace pptrain
