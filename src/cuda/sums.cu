#include <cmath>

#include "cuda/kernels.hpp"
#include "cuda/sums.hpp"
#include "kernels/bodies/norm.hpp"
#include "kernels/bodies/typed_rows.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

/// The runs of one launch, which may carry 4 KiB.
struct SquaresTable {
  static constexpr unsigned capacity = 128;
  static constexpr std::size_t elements_of_block = 16384;

  ValueRun runs[capacity];
  unsigned first_block[capacity];
  unsigned count = 0, num_blocks = 0;

  void add(const ValueRun& run) {
    runs[count] = run;
    first_block[count++] = num_blocks;
    num_blocks += static_cast<unsigned>((run.size + elements_of_block - 1) / elements_of_block);
  }
};

/// Every block sums a part of one run.
__global__ void squares_of_runs(const __grid_constant__ SquaresTable table, double* partial_sums) {
  __shared__ double scratch[warp_size];
  unsigned r = table.count - 1;
  while (blockIdx.x < table.first_block[r]) --r;
  const ValueRun& run = table.runs[r];
  const std::size_t begin = (blockIdx.x - table.first_block[r]) * SquaresTable::elements_of_block;
  const std::size_t limit = begin + SquaresTable::elements_of_block,
                    end = run.size < limit ? run.size : limit;
  double sum = 0;
  for (std::size_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    sum += static_cast<double>(run.values[i]) * static_cast<double>(run.values[i]);
  }
  sum = combine_block(sum, 0.0, threadIdx.x, blockDim.x, scratch, Plus());
  if (threadIdx.x == 0) partial_sums[blockIdx.x] = sum;
}

struct CrossEntropyLoss {
  const float *row_max, *row_sum, *target_logit;
  double z_loss;
  PPTRAIN_FUNCTION double operator()(std::size_t row) const {
    if (row_sum[row] == __builtin_huge_valf()) return 0.0;
    const double logz =
        std::log(static_cast<double>(row_sum[row])) + static_cast<double>(row_max[row]);
    const double loss = logz - static_cast<double>(target_logit[row]);
    return z_loss == 0.0 ? loss : loss + z_loss * logz * logz;
  }
};

template <class T>
struct ChunkSums : bodies::ColumnSum<T> {
  PPTRAIN_FUNCTION ChunkSums of_chunk(std::size_t shift) const {
    return {{this->values, this->sums + shift}};
  }
  PPTRAIN_FUNCTION void clear(std::size_t column) const { this->sums[column] = 0; }
};

template <class T>
struct ConvertingChunkSums : bodies::ConvertingColumnSum<T> {
  PPTRAIN_FUNCTION ConvertingChunkSums of_chunk(std::size_t shift) const {
    return {{this->values, this->sums + shift, this->converted}};
  }
  PPTRAIN_FUNCTION void clear(std::size_t column) const { this->sums[column] = 0; }
};

}  // namespace

void CudaKernels::sums_of_squares(const ValueRun* runs, std::size_t count, double* sum) {
  for (std::size_t next = 0; next < count;) {
    SquaresTable table = {};
    while (next < count && table.count < SquaresTable::capacity) table.add(runs[next++]);
    if (table.num_blocks == 0) continue;
    auto* partial_sums = scratch_.take<double>(table.num_blocks);
    launch(device_.stream(), table.num_blocks, threads_of_sum, 0, squares_of_runs, table,
           partial_sums);
    launch(device_.stream(), 1, threads_of_sum, 0, add_partial_sums, partial_sums, table.num_blocks,
           sum);
  }
}

void CudaKernels::cross_entropy_loss(const float* row_max, const float* row_sum,
                                     const float* target_logit, std::size_t rows, double* loss,
                                     double z_loss) {
  launch_sum(device_.stream(), rows, CrossEntropyLoss{row_max, row_sum, target_logit, z_loss},
             scratch_.take<double>(most_partial_sums), loss);
}

void CudaKernels::add_column_sums(const Matrix& d, float* gradient) {
  if (d.rows == 0 || d.columns == 0) return;
  const RowChunks chunks(d.rows);
  auto* partial_sums = scratch_.take<float>(chunks.count() * d.columns);
  with_type(d.type, [&](auto element) {
    using T = decltype(element);
    launch_sum_chunks(device_.stream(), d.columns, chunks,
                      ChunkSums<T>{{read_rows<T>(d), partial_sums}});
  });
  launch_add_chunks(device_.stream(), d.columns, chunks, {partial_sums, gradient});
}

void CudaKernels::add_column_sums_and_convert(const Matrix& d, float* gradient,
                                              const Matrix& converted) {
  if (d.rows == 0 || d.columns == 0) return;
  const RowChunks chunks(d.rows);
  auto* partial_sums = scratch_.take<float>(chunks.count() * d.columns);
  with_narrow_type(converted.type, [&](auto element) {
    using T = decltype(element);
    launch_sum_chunks(
        device_.stream(), d.columns, chunks,
        ConvertingChunkSums<T>{{read_rows<float>(d), partial_sums, write_rows<T>(converted)}});
  });
  launch_add_chunks(device_.stream(), d.columns, chunks, {partial_sums, gradient});
}

}  // namespace pptrain
