#pragma once

#include "model/model.hpp"

namespace pptrain {

/// What a framework keeps of a layer from F to B that makes nothing again: every input of every operator that B needs.
/// Bytes of a sample.
struct PlainBytes {
  double whole = 0.0;    ///< that every member of a tensor-parallel group has, as Megatron divides layers
  double divided = 0.0;  ///< that members divide
  double scores = 0.0;   ///< ... of these, of attention that stores them
  double moment = 0.0;   ///< beside it for a moment, the gradients of the widest values, by members divided
};

/// With numbers of `element_bytes` each; attention with stored scores or tile by tile.
PlainBytes plain_bytes(const Layer& layer, double element_bytes, bool stores_scores);

}  // namespace pptrain
