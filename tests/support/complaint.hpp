#pragma once

#include <string>

#include "base/error.hpp"
#include "support/catch.hpp"

namespace pptrain {

/// The message of the `Error` with exit code 2 that `action` throws.
template <class Action>
std::string complaint_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    return error.what();
  }
  return "nothing was refused";
}

/// `text` with the first `from` replaced by `to`, which has to be there.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace pptrain
