#include "cuda/kernels.hpp"
#include "cuda/packs.hpp"
#include "kernels/bodies/cross_entropy.hpp"
#include "kernels/typed_rows.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

/// f(value) for a row's values that this thread of the block visits, loaded in packs of N.
template <unsigned N, class T, class F>
PPTRAIN_FUNCTION void visit_values(const T* row, std::size_t columns, unsigned thread, unsigned threads, const F& f) {
  const std::size_t packs = columns / N;
  for (std::size_t p = thread; p < packs; p += threads) {
    const Pack<T, N> pack(row + p * N);
    for (unsigned e = 0; e < N; ++e) f(static_cast<float>(pack.values[e]));
  }
  for (std::size_t c = packs * N + thread; c < columns; c += threads) f(static_cast<float>(row[c]));
}

/// bodies::CrossEntropyMax, a block per row.
template <unsigned N, class T>
__global__ void __launch_bounds__(most_threads) largest_of_rows(bodies::CrossEntropyMax<T> body, std::size_t rows) {
  __shared__ float scratch[warp_size];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    float most = -__builtin_huge_valf();
    visit_values<N>(body.logits.row(row), body.columns, threadIdx.x, blockDim.x,
                    [&](float value) { most = Larger()(most, value); });
    most = combine_block(most, -__builtin_huge_valf(), threadIdx.x, blockDim.x, scratch, Larger());
    if (threadIdx.x == 0) body.row_max[row] = most;
  }
}

/// bodies::CrossEntropySum, a block per row.
template <unsigned N, class T>
__global__ void __launch_bounds__(most_threads) sums_of_rows(bodies::CrossEntropySum<T> body, std::size_t rows) {
  __shared__ float scratch[warp_size];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* logits = body.logits.row(row);
    const float most = body.row_max[row];
    float total = 0, all = 0;
    visit_values<N>(logits, body.targets.columns, threadIdx.x, blockDim.x,
                    [&](float value) { total += fast_exp(value - most); });
    total = combine_block(total, 0.0f, threadIdx.x, blockDim.x, scratch, Plus());
    if (body.targets.uniform != 0.0f) {
      visit_values<N>(logits, body.targets.columns, threadIdx.x, blockDim.x, [&](float value) { all += value; });
      all = combine_block(all, 0.0f, threadIdx.x, blockDim.x, scratch, Plus());
    }
    if (threadIdx.x == 0) body.finish(row, total, all);
  }
}

template <class T>
struct GradientPacks : bodies::CrossEntropyGradient<T> {
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t row, std::size_t c) const {
    T* place = this->logits.row(row) + c;
    Pack<T, N> pack(place);
    bodies::CrossEntropyGradient<T> body = *this;  // of a vocabulary shard of N
    body.logits = {pack.values, 0};
    body.targets.first_class += static_cast<std::int64_t>(c);
    body.targets.columns = N;
    body(PackTeam<N>(), row);
    pack.store(place);
  }
};

unsigned threads_for(std::size_t columns) { return columns < 8192 ? 256U : most_threads; }

}  // namespace

void CudaKernels::cross_entropy_max(const Matrix& logits, float* row_max) {
  if (logits.rows == 0) return;
  with_type(logits.type, [&](auto element) {
    using T = decltype(element);
    launch(device_.stream(), num_blocks(logits.rows), threads_for(logits.columns), 0,
           are_aligned({&logits}) ? largest_of_rows<pack_of<T>(), T> : largest_of_rows<1, T>,
           bodies::CrossEntropyMax<T>{read_rows<T>(logits), row_max, logits.columns}, logits.rows);
  });
}

void CudaKernels::cross_entropy_sum(const Matrix& logits, const Targets& targets, const float* row_max, float* row_sum,
                                    float* target_logit) {
  if (logits.rows == 0) return;
  with_type(logits.type, [&](auto element) {
    using T = decltype(element);
    launch(device_.stream(), num_blocks(logits.rows), threads_for(logits.columns), 0,
           are_aligned({&logits}) ? sums_of_rows<pack_of<T>(), T> : sums_of_rows<1, T>,
           bodies::CrossEntropySum<T>{read_rows<T>(logits), {targets, logits.columns}, row_max, row_sum, target_logit},
           logits.rows);
  });
}

void CudaKernels::cross_entropy_gradient(const Matrix& logits, const Targets& targets, const float* row_max,
                                         const float* row_sum, float scale, float z_loss) {
  with_type(logits.type, [&](auto element) {
    using T = decltype(element);
    launch_packs<pack_of<T>()>(
        device_.stream(), {logits.rows, logits.columns}, are_aligned({&logits}),
        GradientPacks<T>{{write_rows<T>(logits), {targets, logits.columns}, row_max, row_sum, scale, z_loss}});
  });
}

}  // namespace pptrain
