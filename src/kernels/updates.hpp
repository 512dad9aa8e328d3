#pragma once

#include <cstddef>

#include "tensor/tensor.hpp"

namespace pptrain {

/// A run of elements that an optimizer treats alike, with their state.
struct UpdateRun {
  float* parameter = nullptr;
  const float* gradient = nullptr;
  float* first = nullptr;   ///< AdamW: m
  float* second = nullptr;  ///< AdamW: v; null where an optimizer keeps less
  Matrix copy;              ///< (1, size): the parameters in 16 bits as well, or nothing (f32)
  std::size_t size = 0;
  float weight_decay = 0.0f;  ///< 0 for norms and biases
};

struct UpdateStep;  // kernels/bodies/update_steps.hpp

/// Steps of optimizers that treat each element by itself.
class UpdateKernels {
 public:
  virtual ~UpdateKernels() = default;
  /// A step of an optimizer updates the first of `count` runs: as many as the device updates in one
  /// go. Returns how many, at least one. Runs with copies have them of one type.
  virtual std::size_t update(const UpdateRun* runs, std::size_t count, const UpdateStep& step) = 0;
};

}  // namespace pptrain
