#include "calibrating.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "plan/match.hpp"
#include "planners/calibrate.hpp"
#include "planners/given_plan.hpp"
#include "report/run_folder.hpp"
#include "runtime/job/choose_plans.hpp"

namespace pptrain {
namespace {

const std::string place = "command line: --calibrate";

/// Steps at the start of a run in which memory is touched for the first time.
constexpr std::size_t unsteady_steps = 2;

struct Measured {
  Plan plan;
  double seconds = 0.0;
  std::string source;
};

std::optional<double> number_in(const std::string& text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return {};
  if (!std::isfinite(value) || value <= 0.0) {
    throw_bad_input({place, fmt::format("{} are no seconds of an iteration", text),
                     "they have to be above 0",
                     "give what an iteration took, or metrics.h5 of a run"});
  }
  return value;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Refuses a run whose profile is of other layers than the one that is to be scaled.
void check_model(const Profile& of_run, const Profile& profile, const std::string& source) {
  const auto same = [](const ProfileLayer& a, const ProfileLayer& b) {
    return a.name == b.name && a.parameters == b.parameters;
  };
  if (std::equal(of_run.layers.begin(), of_run.layers.end(), profile.layers.begin(),
                 profile.layers.end(), same)) {
    return;
  }
  throw_bad_input(
      {source,
       fmt::format("the run trained \"{}\" of {} layers", of_run.model, of_run.num_layers()),
       fmt::format("\"{}\" of {} layers is planned, or its layers are of other sizes",
                   profile.model, profile.num_layers()),
       "calibrate by a run of the same model"});
}

Measured measured_run(const std::string& path, const Instance& instance) {
  namespace fs = std::filesystem;
  const fs::path given = path;
  const RunFolder run =
      read_run_folder(given.filename() == "metrics.h5" ? given.parent_path().string() : path);
  check_model(run.profile, instance.profile, path);
  Measured measured = {run.plans.back().plan, 0.0, path};
  if (run.cluster.num_devices() != instance.cluster.num_devices()) {
    throw_bad_input(
        {path, fmt::format("the run had {} devices", run.cluster.num_devices()),
         fmt::format("\"{}\" has {}", instance.cluster.name, instance.cluster.num_devices()),
         "calibrate by a run on the same cluster"});
  }
  check_plan_devices(measured.plan, instance.cluster, path);
  if (measured.plan.global_batch_size != instance.global_batch_size) {
    throw_bad_input(
        {path, fmt::format("the run had a global batch of {}", measured.plan.global_batch_size),
         fmt::format("{} is planned", instance.global_batch_size),
         "calibrate by a run with the same batch"});
  }
  const std::vector<double>& all = run.metrics.history.reals.at("steps/iteration_seconds");
  const auto before = static_cast<std::size_t>(run.plans.back().from_step);
  std::vector<double> steady;
  for (std::size_t i = before + unsteady_steps; i < all.size(); ++i) {
    if (std::isfinite(all[i]) && all[i] > 0.0) steady.push_back(all[i]);
  }
  if (steady.empty()) {
    throw_bad_input({path, "the run has no steady iteration",
                     fmt::format("it recorded {} steps, of which the first {} are left out",
                                 all.size(), unsteady_steps),
                     "let it run for some steps more"});
  }
  measured.seconds = median(std::move(steady));
  return measured;
}

}  // namespace

void calibrate_times(const std::string& measured_by, const Config& config,
                     const std::string& planner, const Restrictions& restrictions,
                     const Instance& instance, Profile& profile) {
  Measured measured;
  if (const std::optional<double> seconds = number_in(measured_by)) {
    Plan plan = !config.parallelism.plan.empty()
                    ? given_plan(config, instance)
                    : feasible_plan(shown_search(planner, config, instance, restrictions), planner,
                                    config, instance, restrictions);
    measured = {std::move(plan), *seconds, place};
  } else {
    measured = measured_run(measured_by, instance);
  }
  const Calibration found = calibrate(instance, measured.plan, measured.seconds, measured.source);
  scale_times(profile, found.factor);
  profile.error_band.reset();  // it was that of times that nobody had measured
  log_info(
      "Calibrated: layers take {:.3g} times as long. An iteration of {} took {}, {} were "
      "predicted.",
      found.factor, measured.plan.shape(), format_seconds(found.measured_seconds),
      format_seconds(found.predicted_seconds));
}

}  // namespace pptrain
