#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "cuda/rows.hpp"
#include "kernels/bodies/row_team.hpp"
#include "tensor/tensor.hpp"

/// Element bodies on a GPU: a thread computes a few neighbours, which it loads and stores 16 bytes
/// at a time where all arrays are aligned, else one at a time. C++17.
namespace pptrain::cuda {

/// N neighbours in registers. With N > 1 memory is aligned to 16 bytes.
template <class T, unsigned N>
struct Pack {
  T values[N];

  PPTRAIN_FUNCTION explicit Pack(const T* from) {
    if constexpr (N == 1) {
      values[0] = *from;
    } else {
      uint4 words[num_words];
      for (unsigned w = 0; w < num_words; ++w) words[w] = reinterpret_cast<const uint4*>(from)[w];
      std::memcpy(static_cast<void*>(values), words, sizeof(words));
    }
  }
  Pack() = default;

  PPTRAIN_FUNCTION void store(T* to) const {
    if constexpr (N == 1) {
      *to = values[0];
    } else {
      uint4 words[num_words];
      std::memcpy(words, values, sizeof(words));
      for (unsigned w = 0; w < num_words; ++w) reinterpret_cast<uint4*>(to)[w] = words[w];
    }
  }

 private:
  static constexpr unsigned num_words = N * sizeof(T) / sizeof(uint4);
  static_assert(N == 1 || N * sizeof(T) % sizeof(uint4) == 0, "a pack is whole words of 16 bytes");
};

/// One thread with a pack, as a team for row bodies.
template <unsigned N>
struct PackTeam {
  template <class F>
  PPTRAIN_FUNCTION void for_each(std::size_t, const F& f) const {
    for (unsigned i = 0; i < N; ++i) f(i);
  }
  template <class F>
  PPTRAIN_FUNCTION void once(const F& f) const {
    f();
  }
};

/// A matrix (rows, columns) as one row, where all of these have no gaps between rows.
struct Extent {
  std::size_t rows, columns;

  /// One row of rows * columns elements, or both numbers as they are where a matrix has gaps.
  static Extent of(std::size_t rows, std::size_t columns,
                   std::initializer_list<const Matrix*> matrices) {
    for (const Matrix* matrix : matrices) {
      if (matrix->stride != columns) return {rows, columns};
    }
    return {1, rows * columns};
  }
};

inline bool is_aligned(const void* pointer, std::size_t stride_bytes = 0) {
  return (reinterpret_cast<std::uintptr_t>(pointer) | stride_bytes) % sizeof(uint4) == 0;
}

/// Whether rows of these may be loaded and stored in packs.
inline bool are_aligned(std::initializer_list<const Matrix*> matrices) {
  for (const Matrix* matrix : matrices) {
    if (!is_aligned(matrix->data, matrix->stride * size_of(matrix->type))) return false;
  }
  return true;
}

/// body.apply<N>(row, column) for the first columns of all packs of a row, and body.apply<1> for
/// those that are left.
template <unsigned N, class Body>
__global__ void packs_of_rows(Body body, std::size_t rows, std::size_t columns) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x, packs = columns / N;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::size_t row = blockIdx.y; row < rows; row += gridDim.y) {
    for (std::size_t pack = first; pack < packs; pack += step)
      body.template apply<N>(row, pack * N);
    for (std::size_t c = packs * N + first; c < columns; c += step) body.template apply<1>(row, c);
  }
}

template <unsigned N, class Body>
void launch_packs_of(ComputeStream& stream, const Extent& extent, const Body& body) {
  if (extent.rows == 0 || extent.columns == 0) return;
  const std::size_t packs = std::max<std::size_t>(extent.columns / N, 1), most_rows = 65535;
  const auto threads = static_cast<unsigned>(
      std::min<std::size_t>(256, (packs + warp_size - 1) / warp_size * warp_size));
  const dim3 grid(num_blocks((packs + threads - 1) / threads),
                  static_cast<unsigned>(std::min(extent.rows, most_rows)));
  launch(stream, grid, threads, 0, packs_of_rows<N, Body>, body, extent.rows, extent.columns);
}

/// Applies the body to every element of the extent, in packs of N where `aligned`, else element by
/// element.
template <unsigned N, class Body>
void launch_packs(ComputeStream& stream, const Extent& extent, bool aligned, const Body& body) {
  if (aligned) {
    launch_packs_of<N>(stream, extent, body);
  } else {
    launch_packs_of<1>(stream, extent, body);
  }
}

/// 16 bytes of the smaller of two types.
template <class A, class B = A>
constexpr unsigned pack_of() {
  return sizeof(uint4) / (sizeof(A) < sizeof(B) ? sizeof(A) : sizeof(B));
}

}  // namespace pptrain::cuda
