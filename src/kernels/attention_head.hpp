#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/kernels.hpp"

/// What the forward and backward pass of host attention share.
namespace pptrain::kernels {

/// Query rows handled at once; their scores against all earlier keys are the only T-wide scratch.
constexpr std::size_t attention_tile = 64;

/// Sizes of one call and where one head of one sample lies in its matrices.
struct AttentionShape {
  std::size_t samples, sequence_length, heads, head_size;

  AttentionShape(const Matrix& qkv, std::size_t num_samples, std::size_t length, std::size_t num_heads);

  float scale() const { return 1.0f / std::sqrt(static_cast<float>(head_size)); }
  /// q (part 0), k (1) or v (2) of a head: (T, head_size) within a qkv-shaped matrix.
  Matrix part(const Matrix& qkv, std::size_t sample, std::size_t head, std::size_t which) const;
  /// A head's columns of an out-shaped matrix: (T, head_size).
  Matrix head_of(const Matrix& out, std::size_t sample, std::size_t head) const;
  /// The log_sum of a head's first query; one query to the next is `heads` apart.
  template <class T>
  T* log_sum_of(T* log_sum, std::size_t sample, std::size_t head) const {
    return log_sum + sample * sequence_length * heads + head;
  }
};

/// f32 view of a (T, head_size) matrix: itself, or a converted copy in `scratch`.
Matrix as_f32(const Matrix& matrix, const Tensor& scratch);

}  // namespace pptrain::kernels
