#include "base/files.hpp"

#include <cerrno>

#include "base/error.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a full disk is a failure and no bad input", "[base]") {
  for (const int error : {ENOSPC, EDQUOT, EIO}) {
    try {
      throw_unwritable({"file", "cannot be written", "", ""}, error);
    } catch (const Error& thrown) {
      CHECK(thrown.code() == ExitCode::runtime_failure);
    }
  }
}

}  // namespace
}  // namespace pptrain
