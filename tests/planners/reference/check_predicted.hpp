#pragma once

#include <algorithm>
#include <cmath>

#include "planners/reference/cost.hpp"
#include "planners/reference/spaces.hpp"
#include "support/catch.hpp"

namespace pptrain::reference {

/// Equal but for the order of summation.
inline bool equal(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b)); }

/// The plan fits, and what is predicted of it are the plain model's figures.
inline void check_predicted(const RandomInstance& instance, const Plan& plan) {
  const Prediction& predicted = *plan.predicted;
  REQUIRE(equal(predicted.estimates.at("amp"), seconds_of(instance, plan, Form::amp)));
  const auto line = dapple_line(instance.profile, instance.cluster, plan);
  if (pivot(line, static_cast<double>(plan.micro_batches)).margin >= 1e-12) {
    REQUIRE(equal(predicted.estimates.at("dapple"), seconds_of(instance, plan, Form::dapple)));
  }
  REQUIRE(predicted.estimate_seconds == predicted.estimates.at(plan.planner == "dapple" ? "dapple" : "amp"));
  const std::vector<double> need = memory(instance.profile, instance.cluster, plan);
  REQUIRE(predicted.peak_bytes.size() == need.size());
  for (std::size_t d = 0; d < need.size(); ++d) REQUIRE(equal(predicted.peak_bytes[d], need[d]));
  REQUIRE(fits(instance.profile, instance.cluster, plan));
}

}  // namespace pptrain::reference
