#pragma once

#include <utility>

#include "cuda/flash_tile.hpp"
#include "cuda/launch.hpp"
#include "kernels/typed_rows.hpp"

/// How the kernels of flash attention start. C++17.
namespace pptrain::cuda {

__device__ inline float* shared_floats() { return reinterpret_cast<float*>(dynamic_shared_memory); }

/// f(T(), FlashTile<...>()) for the element type and the smallest sums that hold a head. Larger heads have smaller
/// tiles, for the 99 KiB of shared memory of the GPUs that have least.
template <class F>
void for_type_and_tile(DType type, std::size_t head_size, const F& f) {
  kernels::with_type(type, [&](auto element) {
    if (head_size <= 64) {
      f(element, FlashTile<32, 8>());
    } else if (head_size <= 128) {
      f(element, FlashTile<32, 16>());
    } else {
      f(element, FlashTile<16, 32>());
    }
  });
}

/// A block per tile of `rows` rows of each of `heads` heads of every sample, with room for some tiles of rows and of
/// scores.
template <class Tile, class... Parameters, class... Arguments>
void launch_flash(ComputeStream& stream, const FlashShape& s, std::size_t rows, std::size_t heads,
                  std::size_t row_tiles, std::size_t score_tiles, void (*kernel)(Parameters...),
                  Arguments&&... arguments) {
  constexpr std::size_t without_asking = std::size_t{48} << 10;
  const std::size_t blocks = Tile::tiles_of(rows) * heads * s.samples;
  if (blocks == 0) return;
  const std::size_t bytes =
      Tile::tile * sizeof(float) * (row_tiles * (s.head_size + 1) + score_tiles * Tile::score_stride);
  if (bytes > without_asking) {
    PPTRAIN_CUDA(cudaFuncSetAttribute, kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  }
  launch(stream, static_cast<unsigned>(blocks), Tile::threads, bytes, kernel, std::forward<Arguments>(arguments)...);
}

}  // namespace pptrain::cuda
