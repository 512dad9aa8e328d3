#pragma once

#include <utility>

#include "cuda/flash_tile.hpp"
#include "cuda/launch.hpp"
#include "kernels/bodies/typed_rows.hpp"

/// How the kernels of flash attention start. C++17.
namespace pptrain::cuda {

__device__ inline float* shared_floats() { return reinterpret_cast<float*>(dynamic_shared_memory); }

/// f(Tile()) with the first of the tiles, the larger one, if blocks of all kernels find room for
/// it.
template <class Larger, class Smaller, class F>
void for_tile_with_room(const FlashShape& s, const F& f) {
  if (Larger::most_bytes(s.head_size) <= s.shared_bytes) {
    f(Larger());
  } else {
    f(Smaller());
  }
}

/// f(T(), FlashTile<...>()) for the element type and the smallest sums that hold a head. Larger
/// heads have smaller tiles, for the 99 KiB of shared memory of most GPUs, and smaller ones again
/// where a GPU has 64 KiB (7.5).
template <class F>
void for_type_and_tile(DType type, const FlashShape& s, const F& f) {
  kernels::with_type(type, [&](auto element) {
    const auto with_tile = [&](auto tile) { f(element, tile); };
    if (s.head_size <= 64) {
      f(element, FlashTile<32, 8>());
    } else if (s.head_size <= 128) {
      for_tile_with_room<FlashTile<32, 16>, FlashTile<16, 16>>(s, with_tile);
    } else {
      for_tile_with_room<FlashTile<16, 32>, FlashTile<8, 32>>(s, with_tile);
    }
  });
}

/// A block per tile of `rows` rows of each of `heads` heads of every sample, with room for some
/// tiles of rows and of scores.
template <class Tile, class... Parameters, class... Arguments>
void launch_flash(ComputeStream& stream, const FlashShape& s, std::size_t rows, std::size_t heads,
                  std::size_t row_tiles, std::size_t score_tiles, void (*kernel)(Parameters...),
                  Arguments&&... arguments) {
  constexpr std::size_t without_asking = std::size_t{48} << 10;
  const std::size_t blocks = Tile::tiles_of(rows) * heads * s.samples;
  if (blocks == 0) return;
  const std::size_t bytes = Tile::bytes(s.head_size, row_tiles, score_tiles);
  if (bytes > without_asking) {
    PPTRAIN_CUDA(cudaFuncSetAttribute, kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                 static_cast<int>(bytes));
  }
  launch(stream, static_cast<unsigned>(blocks), Tile::threads, bytes, kernel,
         std::forward<Arguments>(arguments)...);
}

}  // namespace pptrain::cuda
