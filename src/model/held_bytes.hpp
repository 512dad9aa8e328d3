#pragma once

#include "model/model.hpp"

namespace pptrain {

/// What one member of a tensor-parallel group holds of a layer for a sample, in bytes.
struct HeldBytes {
  double stored = 0.0;             ///< from the start of F to the end of B
  double deferred = 0.0;           ///< from the end of B to the end of W, where these are apart
  double workspace = 0.0;          ///< beyond what is stored, for a moment, in any of its passes
  double forward_workspace = 0.0;  ///< the same in F alone
  double recomputed = 0.0;         ///< of what is stored, what selective recomputation makes again
};

/// Follows the values and gradients of a layer through its passes as `OperatorLayer` makes and drops them, of what all
/// members divide evenly a part. `compute_bytes`: of a number of the products; `degree`: members of the group. Scratch
/// memory of kernels is left out.
HeldBytes held_bytes(const OperatorList& list, double compute_bytes, int degree);

}  // namespace pptrain
