#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "model/model.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// What one device holds of a logical parameter.
struct LocalParameter {
  ParameterSpec spec;
  std::vector<Interval> elements;  ///< of the flattened whole, in local order
  std::size_t rows = 1;            ///< local shape; vectors have one row
  std::size_t columns = 1;
  std::size_t offset = 0;  ///< of the first element in the store
  ChunkId chunk;
  std::size_t size() const { return rows * columns; }
};

/// Weights and gradients of everything a device holds, each in one flat fp32 array, so that
/// optimizer, reductions and checkpoints work on runs of elements. With bf16 activations there is
/// also a bf16 copy of the weights, kept up to date by the optimizer.
class ParameterStore {
 public:
  /// Registers the shard `part` of a parameter and returns its index; a parameter registered
  /// before under the same name (a tied embedding) is shared.
  std::size_t add(ChunkId chunk, const ParameterSpec& spec, Interval part, std::int64_t axis_size);

  /// Allocates after the last `add`; the arena must outlive the store.
  void allocate(Arena& arena, DType compute_type);

  const std::vector<LocalParameter>& parameters() const { return parameters_; }
  std::size_t size() const { return size_; }  ///< elements, padding included
  std::size_t begin_of(ChunkId chunk) const;  ///< first element of a chunk's parameters
  std::size_t end_of(ChunkId chunk) const;

  float* weights() const { return weights_.f32(); }
  float* gradients() const { return gradients_.f32(); }
  BFloat16* copies() const { return copies_ ? copies_.matrix().at<BFloat16>(0) : nullptr; }

  float* weight(std::size_t index) const { return weights() + parameters_[index].offset; }
  Matrix weight_matrix(std::size_t index) const;   ///< fp32
  Matrix compute_matrix(std::size_t index) const;  ///< of the compute type

  /// Gradients are not cleared: the first contribution of a step overwrites. Returns whether this
  /// gradient already holds something, so that a product must accumulate.
  bool accumulates(std::size_t index);
  Matrix gradient_matrix(std::size_t index) const;
  /// For kernels that always add: cleared on first use in a step.
  float* adding(std::size_t index);
  /// Starts the next step: all gradients count as empty.
  void start_step();

  /// Brings the bf16 copies up to date with the weights.
  void refresh_copies();

  /// Sets every weight from `values(spec, interval of the flattened whole, output)`.
  void fill(const std::function<void(const ParameterSpec&, Interval, float*)>& values);

 private:
  std::vector<LocalParameter> parameters_;
  std::vector<char> touched_;
  std::size_t size_ = 0;
  Tensor weights_;
  Tensor gradients_;
  Tensor copies_;
};

/// GPT-2's initialisation from counter-based random numbers, the same for every division:
/// normal(0.02), residual projections scaled by 1/sqrt(2 L), LayerNorm 1 and 0, biases 0.
void fill_random(ParameterStore& store, std::uint64_t seed, std::int64_t num_blocks);

}  // namespace pptrain
