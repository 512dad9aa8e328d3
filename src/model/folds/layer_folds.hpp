#pragma once

#include <string>

#include "model/model.hpp"

namespace pptrain {

/// Fills in what follows from the operators of a layer: work, FLOP, bytes, signature.
void fold(Layer& layer, double compute_bytes);

/// Work of a layer's operators, in the order of the operators.
Work work_of(const Layer& layer, double compute_bytes);

/// The operators with their dimensions as a text.
std::string signature_of(const Layer& layer);

}  // namespace pptrain
