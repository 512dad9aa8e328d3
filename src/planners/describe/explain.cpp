#include "planners/describe/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/units.hpp"

namespace pptrain {
namespace {

using NamedTime = std::pair<const char*, double>;

/// What the closed form leaves out: waits for links and cores that are shared, and the optimizer
/// step; less what is hidden by overlap.
double contention_of(const Prediction& prediction) {
  return prediction.iteration_seconds - prediction.parts.sum();
}

/// Differences of the parts, the largest first.
std::array<NamedTime, 7> differences(const Prediction& best_plan, const Prediction& other_plan) {
  const TimeParts& best = best_plan.parts;
  const TimeParts& other = other_plan.parts;
  std::array<NamedTime, 7> all = {{
      {"compute", other.compute - best.compute},
      {"bubble", other.bubble - best.bubble},
      {"pipeline communication", other.pipeline_communication - best.pipeline_communication},
      {"tensor communication", other.tensor_communication - best.tensor_communication},
      {"parameter gathers", other.parameter_gathers - best.parameter_gathers},
      {"gradient synchronization", other.gradient_synchronization - best.gradient_synchronization},
      {"contention", contention_of(other_plan) - contention_of(best_plan)},
  }};
  std::stable_sort(all.begin(), all.end(), [](const NamedTime& a, const NamedTime& b) {
    return std::abs(a.second) > std::abs(b.second);
  });
  return all;
}

}  // namespace

std::string why_slower(const Plan& best, const Plan& other) {
  if (same_plan(best, other)) return "the same plan";
  constexpr double worth_telling = 0.02;  // of the best iteration
  constexpr std::size_t most_told = 3;
  const double least = worth_telling * best.predicted->iteration_seconds;
  std::string text;
  std::size_t told = 0;
  for (const auto& [name, seconds] : differences(*best.predicted, *other.predicted)) {
    if (std::abs(seconds) < least || told == most_told) break;
    text += fmt::format("{} {} {}{}", told == 0 ? ":" : ",", name, seconds > 0.0 ? "+" : "-",
                        format_seconds(std::abs(seconds)));
    ++told;
  }
  std::string shape = other.shape();
  if (other.schedule.name != best.schedule.name) shape += ", " + other.schedule.name;
  return shape + (text.empty() ? ": hardly different" : text);
}

}  // namespace pptrain
