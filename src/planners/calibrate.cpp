#include "planners/calibrate.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "base/units.hpp"
#include "planners/judge/simulated_plan.hpp"

namespace pptrain {
namespace {

constexpr double largest_factor = 10.0;

double seconds_of(const Instance& instance, const Plan& plan, double factor) {
  Profile scaled = instance.profile;
  scale_times(scaled, factor);
  const Instance with = {scaled, instance.cluster, instance.global_batch_size, instance.ties};
  return PlanSimulator(with).of(plan).iteration_seconds;
}

}  // namespace

void scale_times(Profile& profile, double factor) {
  for (ProfileLayer& layer : profile.layers) {
    for (ProfileRow& row : layer.rows) {
      row.seconds.forward *= factor;
      row.seconds.backward_input *= factor;
      row.seconds.backward_weight *= factor;
    }
    for (auto& [key, seconds] : layer.update_seconds) seconds *= factor;
  }
}

Calibration calibrate(const Instance& instance, const Plan& plan, double measured_seconds,
                      const std::string& source) {
  Calibration found = {1.0, measured_seconds, seconds_of(instance, plan, 1.0)};
  double least = 1.0 / largest_factor, most = largest_factor;
  const double fastest = seconds_of(instance, plan, least),
               slowest = seconds_of(instance, plan, most);
  if (measured_seconds < fastest || measured_seconds > slowest) {
    throw_bad_input(
        {source,
         fmt::format("an iteration took {}, but {} are predicted of the plan",
                     format_seconds(measured_seconds), format_seconds(found.predicted_seconds)),
         fmt::format("layers that are up to ten times as fast or slow make it {} to {}",
                     format_seconds(fastest), format_seconds(slowest)),
         "give a measurement of this model and cluster, or correct the rates of the cluster's "
         "file"});
  }
  // The iteration grows with the factor, and nearly in proportion: halving the range of logarithms
  // ends soon enough.
  constexpr double exact = 1e-6;
  while (most / least > 1.0 + exact) {
    const double middle = std::sqrt(least * most);
    (seconds_of(instance, plan, middle) < measured_seconds ? least : most) = middle;
  }
  found.factor = std::sqrt(least * most);
  return found;
}

}  // namespace pptrain
