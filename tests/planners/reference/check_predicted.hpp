#pragma once

#include <algorithm>
#include <cmath>

#include "planners/reference/cost.hpp"
#include "planners/reference/spaces.hpp"
#include "support/catch.hpp"

namespace pptrain::reference {

/// Equal but for the order of summation.
inline bool equal(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

/// The plan fits, and what is predicted of it are the plain model's figures; memory where that
/// knows the schedule.
inline void check_predicted(const RandomInstance& instance, const Plan& plan) {
  const Prediction& predicted = *plan.predicted;
  REQUIRE(equal(predicted.estimates.at("amp"), seconds_of(instance, plan, Form::amp)));
  const auto line = dapple_line(instance.profile, instance.cluster, plan);
  if (pivot(line, static_cast<double>(plan.micro_batches)).margin >= 1e-12) {
    REQUIRE(equal(predicted.estimates.at("dapple"), seconds_of(instance, plan, Form::dapple)));
  }
  REQUIRE(predicted.estimate_seconds ==
          predicted.estimates.at(plan.planner == "dapple" ? "dapple" : "amp"));
  const bool momentary =
      std::any_of(plan.stages.begin(), plan.stages.end(), [](const Stage& stage) {
        return stage.recompute != Recompute::none || stage.zero_stage > 1;
      });
  for (int d = 0; d < instance.cluster.num_devices(); ++d) {
    REQUIRE(predicted.peak_bytes.at(d) <= instance.cluster.kind_of(DeviceId(d)).memory);
  }
  if (plan.schedule.name != "1f1b" && plan.schedule.name != "gpipe") return;
  REQUIRE(fits(instance.profile, instance.cluster, plan));
  if (momentary) return;  // the simulator also counts layers that are held whole for a moment
  const std::vector<double> need = memory(instance.profile, instance.cluster, plan);
  REQUIRE(predicted.peak_bytes.size() == need.size());
  for (std::size_t d = 0; d < need.size(); ++d) REQUIRE(equal(predicted.peak_bytes[d], need[d]));
}

}  // namespace pptrain::reference
