#pragma once

#include "cuda/rows.hpp"

/// Sums that many blocks form together: in two steps, each in a fixed order. C++17.
namespace pptrain::cuda {

// --- Scalars: *sum += term(0) + ... + term(n - 1), in double.

constexpr unsigned most_partial_sums = 1024, threads_of_sum = 256;

template <class Term>
__global__ void sum_terms(Term term, std::size_t n, double* partial_sums) {
  __shared__ double scratch[warp_size];
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  double sum = 0;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += step)
    sum += term(i);
  sum = combine_block(sum, 0.0, threadIdx.x, blockDim.x, scratch, Plus());
  if (threadIdx.x == 0) partial_sums[blockIdx.x] = sum;
}

/// One block.
static __global__ void add_partial_sums(const double* partial_sums, unsigned n, double* total) {
  __shared__ double scratch[warp_size];
  double sum = 0;
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) sum += partial_sums[i];
  sum = combine_block(sum, 0.0, threadIdx.x, blockDim.x, scratch, Plus());
  if (threadIdx.x == 0) *total += sum;
}

/// `partial_sums`: room for `most_partial_sums`.
template <class Term>
void launch_sum(ComputeStream& stream, std::size_t n, const Term& term, double* partial_sums,
                double* total) {
  if (n == 0) return;
  const std::size_t per_block = std::size_t{16} * threads_of_sum;
  const auto blocks = static_cast<unsigned>(
      std::min<std::size_t>(most_partial_sums, (n + per_block - 1) / per_block));
  launch(stream, blocks, threads_of_sum, 0, sum_terms<Term>, term, n, partial_sums);
  launch(stream, 1, threads_of_sum, 0, add_partial_sums, partial_sums, blocks, total);
}

// --- Columns: rows are divided into chunks, each column of a chunk is summed in the order of the
// rows, and then the sums of the chunks in their order.

/// How rows are divided: by their number alone, so that sums are the same on every GPU.
struct RowChunks {
  std::size_t rows, rows_of_chunk;

  explicit RowChunks(std::size_t num_rows, std::size_t most_chunks = 128, std::size_t unit = 16)
      : rows(num_rows) {
    rows_of_chunk =
        std::max(unit, (num_rows + most_chunks * unit - 1) / (most_chunks * unit) * unit);
  }
  PPTRAIN_FUNCTION std::size_t count() const { return (rows + rows_of_chunk - 1) / rows_of_chunk; }
};

/// body.of_chunk(shift) adds to arrays that begin `shift` elements later than those of the body.
template <class Body>
__global__ void sum_chunks(Body body, std::size_t columns, RowChunks chunks) {
  const std::size_t column = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  const std::size_t chunk = blockIdx.y, end = chunk * chunks.rows_of_chunk + chunks.rows_of_chunk;
  const std::size_t last = end < chunks.rows ? end : chunks.rows;
  const auto sums = body.of_chunk(chunk * columns);
  sums.clear(column);
  std::size_t row = chunk * chunks.rows_of_chunk;
  for (; row + 8 <= last; row += 8) sums.template add_rows<8>(column, row);
  for (; row < last; ++row) sums.template add_rows<1>(column, row);
}

constexpr unsigned chunk_groups = 32;

/// Sums of chunks, of which `sums` (columns) becomes greater; null: none.
struct ChunkTotals {
  const float* partial_sums = nullptr;  ///< (chunks, columns)
  float* sums = nullptr;
};

/// Blocks of 32 columns of one of two totals: member y sums the chunks y, y + 32, ..., then the
/// members' sums are added in order.
static __global__ void add_chunks(ChunkTotals first, ChunkTotals second, std::size_t chunks,
                                  std::size_t columns) {
  const float* partial_sums = blockIdx.y == 0 ? first.partial_sums : second.partial_sums;
  float* sums = blockIdx.y == 0 ? first.sums : second.sums;
  __shared__ float of_group[chunk_groups][warp_size];
  const std::size_t column = static_cast<std::size_t>(blockIdx.x) * warp_size + threadIdx.x;
  float sum = 0;
  if (column < columns) {
#pragma GCC unroll 8
    for (std::size_t c = threadIdx.y; c < chunks; c += chunk_groups)
      sum += partial_sums[c * columns + column];
  }
  of_group[threadIdx.y][threadIdx.x] = sum;
  sync_block();
  if (threadIdx.y != 0 || column >= columns) return;
  float total = sums[column];
  for (unsigned g = 0; g < chunk_groups; ++g) total += of_group[g][threadIdx.x];
  sums[column] = total;
}

template <class Body>
void launch_sum_chunks(ComputeStream& stream, std::size_t columns, const RowChunks& chunks,
                       const Body& body) {
  constexpr unsigned threads = 128;
  const dim3 grid(static_cast<unsigned>((columns + threads - 1) / threads),
                  static_cast<unsigned>(chunks.count()));
  launch(stream, grid, threads, 0, sum_chunks<Body>, body, columns, chunks);
}

inline void launch_add_chunks(ComputeStream& stream, std::size_t columns, const RowChunks& chunks,
                              const ChunkTotals& first, const ChunkTotals& second = {}) {
  const dim3 grid(static_cast<unsigned>((columns + warp_size - 1) / warp_size),
                  second.sums == nullptr ? 1 : 2);
  launch(stream, grid, dim3(warp_size, chunk_groups), 0, add_chunks, first, second, chunks.count(),
         columns);
}

}  // namespace pptrain::cuda
