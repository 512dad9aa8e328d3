#pragma once

#include <memory>

#include "nn/layer.hpp"

namespace pptrain {

/// Cosines and sines of rotary positions, (length, rotated) fp32 on the context's device: the first
/// half of a row are the cosines of its position, the other its sines, both times the form's
/// attention factor. Layers of one context share a table.
std::shared_ptr<const Tensor> rotary_table(LayerContext& context, const RotaryForm& form,
                                           std::size_t length);

}  // namespace pptrain
