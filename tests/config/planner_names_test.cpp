#include "config/planner_names.hpp"

#include <algorithm>

#include "config/read.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

std::string job_with(const std::string& planner) {
  return "model.name = \"gpt2\"\ntraining.global_batch_size = 8\nplanner.name = \"" + planner +
         "\"\n";
}

TEST_CASE("a job may name each planner of the list, and no other", "[config]") {
  const std::vector<std::string>& names = planner_names();
  CHECK(names.front() == "auto");
  CHECK(names.back() == "all");
  for (const char* name : {"uniform", "amp", "dapple", "whale", "alpa", "exhaustive"})
    CHECK(std::count(names.begin(), names.end(), name) == 1);
  for (const std::string& name : names)
    CHECK(parse_config(job_with(name), "job.toml", "").planner.name == name);
  const std::string refusal = complaint_of([] { parse_config(job_with("alpha"), "job.toml", ""); });
  CHECK(refusal.starts_with("job.toml:3: "));
  CHECK(refusal.find("alpa") != std::string::npos);
}

}  // namespace
}  // namespace pptrain
