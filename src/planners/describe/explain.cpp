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

/// What the parts leave out of the iteration: the optimizer step and cores that devices share.
double rest_of(const Prediction& prediction) { return prediction.iteration_seconds - prediction.parts.sum(); }

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
      {"optimizer step and shared cores", rest_of(other_plan) - rest_of(best_plan)},
  }};
  std::stable_sort(all.begin(), all.end(),
                   [](const NamedTime& a, const NamedTime& b) { return std::abs(a.second) > std::abs(b.second); });
  return all;
}

bool is_same(const Plan& a, const Plan& b) {
  const auto same_stage = [](const Stage& s, const Stage& t) {
    return s.layers == t.layers && s.devices == t.devices && s.samples == t.samples && s.shards == t.shards &&
           s.recompute == t.recompute && s.zero_stage == t.zero_stage && s.offload == t.offload && s.blocks.empty() &&
           t.blocks.empty();
  };
  return a.micro_batch_size == b.micro_batch_size &&
         std::equal(a.stages.begin(), a.stages.end(), b.stages.begin(), b.stages.end(), same_stage);
}

}  // namespace

std::string why_slower(const Plan& best, const Plan& other) {
  if (is_same(best, other)) return "the same plan";
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
  return other.shape() + (text.empty() ? ": hardly different" : text);
}

}  // namespace pptrain
