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

}  // namespace pptrain
