#pragma once

#include "model/folds/layer_bytes.hpp"
#include "model/model.hpp"

namespace pptrain {

/// What one member of a tensor-parallel group holds of a layer for a sample. Follows the values and
/// gradients through the passes as `OperatorLayer` makes and drops them; members divide evenly.
/// `compute_bytes`: of a number of the products; `degree`: members of the group. Scratch memory of
/// kernels is left out.
LayerBytes held_bytes(const OperatorList& list, double compute_bytes, int degree);

}  // namespace pptrain
