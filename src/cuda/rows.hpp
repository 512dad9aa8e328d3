#pragma once

#include <algorithm>

#include "cuda/launch.hpp"
#include "cuda/team.hpp"

/// Row bodies on a GPU: a warp per row where rows are short, else a block. C++17.
namespace pptrain::cuda {

constexpr unsigned rows_per_block = 4;                     // of a warp each
constexpr std::size_t longest_row_of_warp = 2048;          // 64 elements a lane
constexpr std::size_t most_blocks = std::size_t{1} << 20;  // beyond, blocks take several rows
/// The most threads that a block gets. A kernel that is launched with so many is bounded to them,
/// since otherwise it may ask for more registers than there are.
constexpr unsigned most_threads = 1024;

template <class Body>
__global__ void rows_by_warp(Body body, std::size_t rows) {
  const WarpTeam team(threadIdx.x);
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * rows_per_block;
  for (std::size_t row = static_cast<std::size_t>(blockIdx.x) * rows_per_block + threadIdx.y;
       row < rows; row += step) {
    body(team, row);
  }
}

template <class Body>
__global__ void __launch_bounds__(most_threads) rows_by_block(Body body, std::size_t rows) {
  __shared__ float scratch[warp_size];
  const BlockTeam team(threadIdx.x, blockDim.x, scratch);
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) body(team, row);
}

/// As many blocks as there is work, within what a grid may have.
inline unsigned num_blocks(std::size_t blocks) {
  return static_cast<unsigned>(std::min(blocks, most_blocks));
}

/// body(team, row) for row in [0, rows), rows of `columns` elements.
template <class Body>
void launch_rows(ComputeStream& stream, std::size_t rows, std::size_t columns, const Body& body) {
  if (rows == 0) return;
  if (columns <= longest_row_of_warp) {
    launch(stream, num_blocks((rows + rows_per_block - 1) / rows_per_block),
           dim3(warp_size, rows_per_block), 0, rows_by_warp<Body>, body, rows);
  } else {
    launch(stream, num_blocks(rows), columns < 8192 ? 256U : most_threads, 0, rows_by_block<Body>,
           body, rows);
  }
}

}  // namespace pptrain::cuda
