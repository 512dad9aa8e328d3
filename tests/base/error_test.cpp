#include "base/error.hpp"

#include <csignal>

#include "base/in_process.hpp"
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

TEST_CASE("a complaint leaves out what is empty, and does nothing to a terminal", "[base]") {
  CHECK(format_complaint({"", "no disk", "", ""}) == "no disk");
  CHECK(format_complaint({"a.toml", "no disk", "", ""}) == "a.toml: no disk");
  CHECK(format_complaint({"", "no disk", "full", ""}) == "no disk (full)");
  CHECK(format_complaint({"", "no disk", "", "buy one"}) == "no disk; buy one");
  CHECK(format_complaint({"a\033b", "c\033d", "e\033f", "g\033h"}) ==
        "a\\x1bb: c\\x1bd (e\\x1bf); g\\x1bh");
}

TEST_CASE("each kind of failure has the exit code that job scripts know it by", "[base]") {
  const auto code_of = [](void (*fail)(const Complaint&)) {
    try {
      fail({"here", "nothing goes", "", ""});
    } catch (const Error& error) {
      CHECK(std::string(error.what()) == "here: nothing goes");
      CHECK(error.thrown_by() == ThrownBy::this_rank);
      return static_cast<int>(error.code());
    }
    return 0;
  };
  CHECK(code_of(throw_bad_input) == 2);
  CHECK(code_of(throw_no_feasible_plan) == 3);
  CHECK(code_of(throw_runtime_failure) == 4);
  CHECK((static_cast<int>(ExitCode::success) == 0 && static_cast<int>(ExitCode::other) == 1 &&
         static_cast<int>(ExitCode::stopped_early) == 75));
}

TEST_CASE("a broken invariant ends the program with expression, place and values", "[base]") {
  const int layers = 3;
  const Ended broken = in_process([&] { PPTRAIN_ASSERT(layers == 4, "{} of {}", layers, "them"); });
  CHECK(broken.signal == SIGABRT);
  CHECK_THAT(broken.said, Catch::Contains("layers == 4") && Catch::Contains("3 of them") &&
                              Catch::Contains(fmt::format("error_test.cpp:{}", __LINE__ - 3)));
  const Ended sound = in_process([&] { PPTRAIN_ASSERT(layers == 3, "{} layers", layers); });
  CHECK(sound.code == 0);
  CHECK(sound.said.empty());
}

}  // namespace
}  // namespace pptrain
