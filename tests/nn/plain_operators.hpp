#pragma once

#include "plain_layers.hpp"

namespace pptrain::test {

/// A layer of any operators in double, one after another on whole tensors as their descriptions
/// say: the reference that modules, fusions and divisions are held to.
///
/// `x` (R, columns of the input port) or empty; returns the layer's result, or the sum of the
/// cross-entropy alone.
Values plain_operators(const Layer& layer, const Parameters& parameters, const PlainBatch& batch,
                       const Values& x);

/// The balance of the experts of a layer times the rows (`Batch::balance_sum`).
double plain_balance(const Layer& layer, const Parameters& parameters, const PlainBatch& batch,
                     const Values& x);

}  // namespace pptrain::test
