#include "planners/given_plan.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "planners/gpt_on_four.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a plan from a file that does not fit is refused", "[planners]") {
  Gpt gpt(8);
  const Instance instance = gpt.instance();
  const Plan plan = *by_forms("megatron", instance, restrictions_of(gpt.config)).plan;
  REQUIRE(simulated_use(instance, plan) > 1.0);
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("pptrain-fitting-{}.json", ::getpid());
  std::ofstream(path) << write_plan(plan);
  gpt.config.parallelism.plan = path;
  std::string complaint;
  try {
    given_plan(gpt.config, instance);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::no_feasible_plan);
    complaint = error.what();
  }
  std::filesystem::remove(path);
  CHECK(complaint.find("the plan does not fit (device 0 (gpu) needs ") != std::string::npos);
}

}  // namespace
}  // namespace pptrain
