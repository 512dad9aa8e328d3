#include "report/run_folder.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>

#include "base/error.hpp"
#include "base/json_levels.hpp"
#include "base/log.hpp"
#include "base/open_file.hpp"
#include "cluster/read.hpp"
#include "config/read.hpp"
#include "io/checkpoint/checkpoint_folder.hpp"
#include "io/run/metrics.hpp"
#include "io/run/run_directory.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

constexpr double quiet_seconds = 600.0;
constexpr double quiet_iterations = 10.0;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// Nothing of what is no file.
std::string text_of(const std::string& path) {
  if (!is_file(path)) return "";
  return read_text(path, {path, "cannot be read", "", "check its permissions"});
}

void check_is_run(const std::string& path) {
  const std::string latest = (fs::path(path) / latest_run).string();
  if (fs::is_directory(latest)) {
    throw_bad_input({path, "is no run directory", "it has the runs of a job",
                     fmt::format("write {}, the latest of them", latest)});
  }
  for (const char* name : {"plan.json", "cluster.toml", "profile.json", "metrics.h5"}) {
    if (is_file(fs::path(path) / name)) continue;
    throw_bad_input({path, "is no run directory", fmt::format("there is no file {}", name),
                     "name a folder OUTPUT/JOB/START_TIME that a job has printed"});
  }
}

std::int64_t resumed_step_of(const MetricsContent& metrics) {
  const auto from = metrics.environment.find("resumed_from");
  return from == metrics.environment.end() ? 0 : step_of_checkpoint(from->second).value_or(0);
}

/// STEP of plan-after-STEP.json; nothing of other names.
std::optional<std::int64_t> step_of_plan(const std::string& name) {
  static const std::string prefix = "plan-after-";
  static const std::string suffix = ".json";
  if (!name.starts_with(prefix) || !name.ends_with(suffix) ||
      name.size() <= prefix.size() + suffix.size())
    return {};
  std::int64_t step = 0;
  const char* end = name.data() + name.size() - suffix.size();
  const auto read = std::from_chars(name.data() + prefix.size(), end, step);
  if (read.ec != std::errc() || read.ptr != end || step < 0) return {};
  return step;
}

/// plan.json, and plan-after-STEP.json of a job that planned again.
std::vector<PlanOfRun> plans_of(const std::string& path, std::int64_t resumed_step) {
  std::vector<PlanOfRun> plans = {{resumed_step, read_plan(path + "/plan.json")}};
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    const std::optional<std::int64_t> step = step_of_plan(entry.path().filename());
    if (step) plans.push_back({*step, read_plan(entry.path())});
  }
  std::sort(plans.begin(), plans.end(),
            [](const PlanOfRun& a, const PlanOfRun& b) { return a.from_step < b.from_step; });
  return plans;
}

/// A JSON file that a report can do without.
nlohmann::json optional_json(const std::string& path, std::vector<std::string>& losses) {
  if (!is_file(path)) return nullptr;
  const std::string text = text_of(path);
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_discarded() && !find_json_beyond(text)) return json;
  losses.push_back(fmt::format("{} is torn and was left out.", fs::path(path).filename().string()));
  return nullptr;
}

MetricsContent metrics_of(const std::string& path) {
  try {
    return read_metrics(path);
  } catch (const Hdf5Failure& failure) {
    throw_bad_input({path, "cannot be read", failure.what(), "name the directory of another run"});
  }
}

double seconds_since_written(const std::string& path) {
  return std::chrono::duration<double>(fs::file_time_type::clock::now() - fs::last_write_time(path))
      .count();
}

}  // namespace

std::string RunFolder::full_path() const {
  const fs::path folder = fs::absolute(path).lexically_normal();
  return folder.has_filename() ? folder : folder.parent_path();
}

RunFolder read_run_folder(const std::string& path) {
  check_is_run(path);
  RunFolder run;
  run.path = path;
  run.configuration = text_of(path + "/config.toml");
  try {
    run.config = read_config(path + "/config.toml");
  } catch (const Error& error) {
    run.losses.push_back(
        fmt::format("The configuration cannot be read any more: {}.", error.what()));
  }
  run.metrics = metrics_of(path + "/metrics.h5");
  run.resumed_step = resumed_step_of(run.metrics);
  run.plans = plans_of(path, run.resumed_step);
  run.cluster = read_cluster(path + "/cluster.toml");
  run.profile = read_profile(path + "/profile.json");
  for (const PlanOfRun& of_run : run.plans) {
    validate_plan(of_run.plan, run.profile.num_layers(), run.cluster.num_devices(), path);
  }
  run.placement = optional_json(path + "/placement.json", run.losses);
  run.trace = optional_json(path + "/trace.json", run.losses);
  return run;
}

bool close_metrics(const RunFolder& run) {
  if (!run.metrics.left_open) return false;
  const std::string path = run.path + "/metrics.h5";
  const std::vector<double>& iterations = run.metrics.history.reals.at("steps/iteration_seconds");
  const double longest =
      iterations.empty() ? 0.0 : *std::max_element(iterations.begin(), iterations.end());
  if (seconds_since_written(path) < std::max(quiet_seconds, quiet_iterations * longest)) {
    log_info(
        "{} was left open by its writer and may still be written: other programs open it with "
        "swmr=True",
        path);
    return false;
  }
  try {
    const MetricsFile closed(path, run.metrics.history.num_ranks, run.metrics.plan,
                             run.metrics.environment, &run.metrics.history,
                             run.metrics.history.experts);
  } catch (const Error& error) {
    log_warning("{}", error.what());
    return false;
  }
  log_info("{} was left open by a run that was killed: closed it", path);
  return true;
}

}  // namespace pptrain
