#include "base/error.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a complaint names place, problem, reason and suggestion", "[base]") {
  CHECK(format_complaint({"a.toml:3", "heads = 3", "64 is not divisible by 3", "use 4"}) ==
        "a.toml:3: heads = 3 (64 is not divisible by 3); use 4");
  try {
    throw_no_feasible_plan({"", "nothing fits", "", ""});
    FAIL("no exception");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::no_feasible_plan);
  }
}

}  // namespace
}  // namespace pptrain
