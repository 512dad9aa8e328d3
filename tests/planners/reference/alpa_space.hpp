#pragma once

#include <cstdint>
#include <optional>

#include "planners/ask/restrictions.hpp"
#include "planners/reference/random_instance.hpp"

namespace pptrain::reference {

/// The least AMP Eq. 4 of any plan of Alpa's space that fits and obeys the fixed degrees, schedule
/// and micro-batch size, by looking at each: contiguous layers over a sequence of sub-meshes of the
/// devices in order (2^k devices of one node or whole nodes), every micro-batch size, for each
/// layer every replicas x degree of its stage's devices.
struct AlpaOptimum {
  std::optional<double> seconds;
  double num_plans = 0.0;  ///< that were looked at, whether or not they fit
};
AlpaOptimum alpa_optimum(const RandomInstance& instance, const Restrictions& restrictions = {});

}  // namespace pptrain::reference
