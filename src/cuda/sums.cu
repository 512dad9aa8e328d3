#include <cmath>

#include "cuda/kernels.hpp"
#include "cuda/sums.hpp"
#include "kernels/bodies/norm.hpp"
#include "kernels/typed_rows.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

struct Square {
  const float* x;
  PPTRAIN_FUNCTION double operator()(std::size_t i) const {
    return static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
};

struct CrossEntropyLoss {
  const float *row_max, *row_sum, *target_logit;
  double z_loss;
  PPTRAIN_FUNCTION double operator()(std::size_t row) const {
    if (row_sum[row] == __builtin_huge_valf()) return 0.0;
    const double logz = std::log(static_cast<double>(row_sum[row])) + static_cast<double>(row_max[row]);
    const double loss = logz - static_cast<double>(target_logit[row]);
    return z_loss == 0.0 ? loss : loss + z_loss * logz * logz;
  }
};

template <class T>
struct ChunkSums : bodies::ColumnSum<T> {
  PPTRAIN_FUNCTION ChunkSums of_chunk(std::size_t shift) const { return {{this->values, this->sums + shift}}; }
  PPTRAIN_FUNCTION void clear(std::size_t column) const { this->sums[column] = 0; }
};

}  // namespace

void CudaKernels::sum_of_squares(const float* x, std::size_t n, double* sum) {
  launch_sum(device_.stream(), n, Square{x}, scratch_.take<double>(most_partial_sums), sum);
}

void CudaKernels::cross_entropy_loss(const float* row_max, const float* row_sum, const float* target_logit,
                                     std::size_t rows, double* loss, double z_loss) {
  launch_sum(device_.stream(), rows, CrossEntropyLoss{row_max, row_sum, target_logit, z_loss},
             scratch_.take<double>(most_partial_sums), loss);
}

void CudaKernels::add_column_sums(const Matrix& d, float* gradient) {
  if (d.rows == 0 || d.columns == 0) return;
  const RowChunks chunks(d.rows);
  auto* partial_sums = scratch_.take<float>(chunks.count() * d.columns);
  with_type(d.type, [&](auto element) {
    using T = decltype(element);
    launch_sum_chunks(device_.stream(), d.columns, chunks, ChunkSums<T>{{read_rows<T>(d), partial_sums}});
  });
  launch_add_chunks(device_.stream(), d.columns, chunks, partial_sums, gradient);
}

}  // namespace pptrain
