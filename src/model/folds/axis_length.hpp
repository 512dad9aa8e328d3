#pragma once

#include "model/model.hpp"

namespace pptrain {

/// The model with another length of an axis that it has, such as a vocabulary with rows behind it
/// that no token has. `compute_bytes`: of a number in products.
Model with_axis_length(Model model, ShardAxis axis, std::int64_t length, double compute_bytes);

}  // namespace pptrain
