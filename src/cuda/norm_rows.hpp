#pragma once

#include "cuda/packs.hpp"
#include "cuda/sums.hpp"
#include "kernels/bodies/norm.hpp"

/// Norms of aligned rows on a GPU, with a block for a row and 8 neighbours of it in the registers
/// of each thread, so that every element is loaded once and stored once. C++17.
namespace pptrain::cuda {

constexpr unsigned norm_pack = 8;
/// A block of more threads would have too few registers for each.
constexpr unsigned most_norm_threads = 512;
constexpr std::size_t least_norm_chunk = 8;

/// Whether rows of so many columns fit into the registers of one block.
inline bool fits_norm_block(std::size_t columns) {
  return columns % norm_pack == 0 && columns <= std::size_t{most_norm_threads} * norm_pack;
}

inline unsigned norm_threads(std::size_t columns) {
  return static_cast<unsigned>((columns / norm_pack + warp_size - 1) / warp_size * warp_size);
}

/// How the backward pass divides rows: into as many chunks as a GPU of 132 multiprocessors runs
/// blocks at a time, more of short rows, since their blocks are small. By sizes alone, so that sums
/// are the same on every GPU.
inline RowChunks norm_chunks(std::size_t rows, std::size_t columns) {
  constexpr std::size_t most_threads_at_once = 131072, least_chunks = 1024;
  return RowChunks(rows, std::max(least_chunks, most_threads_at_once / norm_threads(columns)),
                   least_norm_chunk);
}

/// A block's sums. Two halves of the scratch are used in turn, so that one barrier is enough for
/// each call.
template <unsigned K>
class BlockSums {
 public:
  /// `scratch`: 2 K warp_size floats of shared memory.
  PPTRAIN_FUNCTION BlockSums(unsigned thread, unsigned threads, float* scratch)
      : thread_(thread), warps_(threads / warp_size), scratch_(scratch) {}

  /// values[i] = the sum of all threads' values[i], for all threads.
  PPTRAIN_FUNCTION void operator()(float (&values)[K]) {
    const unsigned lane = thread_ % warp_size;
    float* half = scratch_ + turn_ * (K * warp_size);
    turn_ = 1 - turn_;
    for (unsigned i = 0; i < K; ++i) values[i] = combine_lanes(values[i], Plus());
    if (lane == 0) {
      for (unsigned i = 0; i < K; ++i) half[i * warp_size + thread_ / warp_size] = values[i];
    }
    sync_block();
    for (unsigned i = 0; i < K; ++i) {
      values[i] = combine_lanes(lane < warps_ ? half[i * warp_size + lane] : 0.0f, Plus());
    }
  }

 private:
  unsigned thread_, warps_, turn_ = 0;
  float* scratch_;
};

/// The columns of a row that a thread has.
struct NormColumns {
  std::size_t first;
  bool any;

  PPTRAIN_FUNCTION NormColumns(unsigned thread, std::size_t columns)
      : first(static_cast<std::size_t>(thread) * norm_pack), any(first < columns) {}
  /// The elements of a row, or zeros.
  template <class T>
  PPTRAIN_FUNCTION void load(const T* row, float (&values)[norm_pack]) const {
    if (any && row != nullptr) {
      const Pack<T, norm_pack> pack(row + first);
      for (unsigned i = 0; i < norm_pack; ++i) values[i] = static_cast<float>(pack.values[i]);
    } else {
      for (unsigned i = 0; i < norm_pack; ++i) values[i] = 0.0f;
    }
  }
  template <class T>
  PPTRAIN_FUNCTION void store(const float (&values)[norm_pack], T* row) const {
    if (any) narrowed<T>(values).store(row + first);
  }
  /// Stores the elements of a row, and leaves in `values` what they are in the type in which they
  /// are stored.
  template <class T>
  PPTRAIN_FUNCTION void round_and_store(float (&values)[norm_pack], T* row) const {
    if (!any) return;
    const Pack<T, norm_pack> pack = narrowed<T>(values);
    for (unsigned i = 0; i < norm_pack; ++i) values[i] = static_cast<float>(pack.values[i]);
    pack.store(row + first);
  }

 private:
  template <class T>
  PPTRAIN_FUNCTION static Pack<T, norm_pack> narrowed(const float (&values)[norm_pack]) {
    Pack<T, norm_pack> pack;
    for (unsigned i = 0; i < norm_pack; ++i) pptrain::store(pack.values[i], values[i]);
    return pack;
  }
};

/// What a thread has of a norm's gain, with the unit added, and offset.
struct NormPack {
  float gain[norm_pack], offset[norm_pack];

  PPTRAIN_FUNCTION NormPack(const kernels::bodies::NormWeights& weights,
                            const NormColumns& columns) {
    columns.load(weights.gain, gain);
    columns.load(weights.offset, offset);
    for (float& value : gain) value += weights.unit;
  }
  template <class T>
  PPTRAIN_FUNCTION void apply(const NormColumns& columns, const float (&x)[norm_pack], float centre,
                              float inverse, T* to) const {
    float values[norm_pack];
    for (unsigned i = 0; i < norm_pack; ++i)
      values[i] = (x[i] - centre) * inverse * gain[i] + offset[i];
    columns.store(values, to);
  }
};

/// kernels::bodies::ResidualNorm.
template <class X, class T>
__global__ void __launch_bounds__(most_norm_threads)
    residual_norm_rows(kernels::bodies::ResidualNorm<X, T> body, std::size_t rows) {
  __shared__ float scratch[2 * warp_size];
  BlockSums<1> sum(threadIdx.x, blockDim.x, scratch);
  const NormColumns own(threadIdx.x, body.columns);
  const NormPack weights(body.weights, own);
  const auto count = static_cast<float>(body.columns);
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    float x[norm_pack];
    own.load(body.x.row(row), x);
    if (body.y.data != nullptr) {
      float y[norm_pack], bias[norm_pack];
      own.load(body.y.row(row), y);
      own.load(body.bias, bias);
      for (unsigned i = 0; i < norm_pack; ++i) x[i] = x[i] + y[i] + bias[i];
      own.round_and_store(x, body.sum.row(row));
    }
    float centre[1] = {0.0f}, variance[1] = {0.0f};
    if (body.mean != nullptr) {
      for (const float value : x) centre[0] += value;
      sum(centre);
      centre[0] /= count;
    }
    if (own.any) {
      for (const float value : x) variance[0] += (value - centre[0]) * (value - centre[0]);
    }
    sum(variance);
    const float inverse = 1.0f / std::sqrt(variance[0] / count + body.epsilon);
    weights.apply(own, x, centre[0], inverse, body.normalised.row(row));
    if (threadIdx.x == 0) {
      if (body.mean != nullptr) body.mean[row] = centre[0];
      body.rstd[row] = inverse;
    }
  }
}

/// kernels::bodies::NormBackward and, over the rows of each chunk,
/// kernels::bodies::NormParameterGradient: a block for each chunk writes its sums to gains and
/// offsets (chunks, columns); offsets may be null.
template <class D, class X, class T>
__global__ void __launch_bounds__(most_norm_threads)
    norm_backward_rows(kernels::bodies::NormBackward<D, X, T> body, float* gains, float* offsets,
                       RowChunks chunks) {
  __shared__ float scratch[4 * warp_size];
  BlockSums<2> sum(threadIdx.x, blockDim.x, scratch);
  const NormColumns own(threadIdx.x, body.columns);
  const NormPack weights(body.weights, own);
  const bool is_centred = body.mean != nullptr;
  const auto count = static_cast<float>(body.columns);
  float gain_sums[norm_pack] = {}, offset_sums[norm_pack] = {};
  const std::size_t first = blockIdx.x * chunks.rows_of_chunk, end = first + chunks.rows_of_chunk;
  for (std::size_t row = first; row < end && row < chunks.rows; ++row) {
    float d[norm_pack], x[norm_pack], passed[norm_pack];
    own.load(body.dnormalised.row(row), d);
    own.load(body.x.row(row), x);
    own.load(body.residual.data != nullptr ? body.residual.row(row) : nullptr, passed);
    const float centre = is_centred ? body.mean[row] : 0.0f, inverse = body.rstd[row];
    if (body.normalised.data != nullptr)
      weights.apply(own, x, centre, inverse, body.normalised.row(row));
    float along[2] = {0.0f, 0.0f};  // one, and x
    for (unsigned i = 0; i < norm_pack; ++i) {
      x[i] = (x[i] - centre) * inverse;
      gain_sums[i] += d[i] * x[i];
      offset_sums[i] += d[i];
      d[i] *= weights.gain[i];
      along[0] += d[i];
      along[1] += d[i] * x[i];
    }
    sum(along);
    const float along_one = is_centred ? along[0] / count : 0.0f, along_x = along[1] / count;
    for (unsigned i = 0; i < norm_pack; ++i)
      passed[i] += inverse * (d[i] - along_one - x[i] * along_x);
    own.store(passed, body.dx.row(row));
  }
  own.store(gain_sums, gains + blockIdx.x * body.columns);
  if (offsets != nullptr) own.store(offset_sums, offsets + blockIdx.x * body.columns);
}

}  // namespace pptrain::cuda
