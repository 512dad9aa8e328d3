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

/// The largest value of a row, for all threads of the block.
template <unsigned N, class T>
PPTRAIN_FUNCTION float largest_of_row(const bodies::CrossEntropyMax<T>& body, std::size_t row, unsigned thread,
                                      unsigned threads, float* scratch) {
  float most = -__builtin_huge_valf();
  visit_values<N>(body.logits.row(row), body.columns, thread, threads,
                  [&](float value) { most = Larger()(most, value); });
  return combine_block(most, -__builtin_huge_valf(), thread, threads, scratch, Larger());
}

/// bodies::CrossEntropySum of a row whose largest value over all shards is `most`.
template <unsigned N, class T>
PPTRAIN_FUNCTION void sum_row(const bodies::CrossEntropySum<T>& body, std::size_t row, float most, unsigned thread,
                              unsigned threads, float* scratch) {
  const T* logits = body.logits.row(row);
  float total = 0, all = 0;
  visit_values<N>(logits, body.targets.columns, thread, threads, [&](float value) { total += fast_exp(value - most); });
  total = combine_block(total, 0.0f, thread, threads, scratch, Plus());
  if (body.targets.uniform != 0.0f) {
    visit_values<N>(logits, body.targets.columns, thread, threads, [&](float value) { all += value; });
    all = combine_block(all, 0.0f, thread, threads, scratch, Plus());
  }
  if (thread == 0) body.finish(row, total, all);
}

/// bodies::CrossEntropyMax, a block per row.
template <unsigned N, class T>
__global__ void __launch_bounds__(most_threads) largest_of_rows(bodies::CrossEntropyMax<T> body, std::size_t rows) {
  __shared__ float scratch[warp_size];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float most = largest_of_row<N>(body, row, threadIdx.x, blockDim.x, scratch);
    if (threadIdx.x == 0) body.row_max[row] = most;
  }
}

/// bodies::CrossEntropySum, a block per row.
template <unsigned N, class T>
__global__ void __launch_bounds__(most_threads) sums_of_rows(bodies::CrossEntropySum<T> body, std::size_t rows) {
  __shared__ float scratch[warp_size];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    sum_row<N>(body, row, body.row_max[row], threadIdx.x, blockDim.x, scratch);
  }
}

/// Both of rows that are whole, a block per row: what it reads for the second time is in a cache.
template <unsigned N, class T>
__global__ void __launch_bounds__(most_threads)
    statistics_of_rows(bodies::CrossEntropyMax<T> largest, bodies::CrossEntropySum<T> sums, std::size_t rows) {
  __shared__ float scratch[warp_size];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float most = largest_of_row<N>(largest, row, threadIdx.x, blockDim.x, scratch);
    if (threadIdx.x == 0) largest.row_max[row] = most;
    sum_row<N>(sums, row, most, threadIdx.x, blockDim.x, scratch);
  }
}

/// bodies::CrossEntropyGradient of N neighbours in registers, which are a vocabulary shard of N.
template <unsigned N, class T>
PPTRAIN_FUNCTION void apply_gradient(bodies::CrossEntropyGradient<T> body, std::size_t row, std::size_t c) {
  T* place = body.logits.row(row) + c;
  Pack<T, N> pack(place);
  body.logits = {pack.values, 0};
  body.targets.first_class += static_cast<std::int64_t>(c);
  body.targets.columns = N;
  body(PackTeam<N>(), row);
  pack.store(place);
}

/// A block per row: blocks that end after one pack take longer to come and go than to compute.
template <unsigned N, class T>
__global__ void __launch_bounds__(most_threads)
    gradients_of_rows(bodies::CrossEntropyGradient<T> body, std::size_t rows) {
  const std::size_t columns = body.targets.columns, packs = columns / N;
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    for (std::size_t p = threadIdx.x; p < packs; p += blockDim.x) apply_gradient<N>(body, row, p * N);
    for (std::size_t c = packs * N + threadIdx.x; c < columns; c += blockDim.x) apply_gradient<1>(body, row, c);
  }
}

template <class T>
struct SoftCapPacks {
  Rows<T> x;
  float cap;
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t row, std::size_t c) const {
    T* place = x.row(row) + c;
    Pack<T, N> pack(place);
    bodies::SoftCap<T>{{pack.values, 0}, cap, N}(PackTeam<N>(), 0);
    pack.store(place);
  }
};

unsigned threads_for(std::size_t columns) { return columns < 8192 ? 256U : most_threads; }

}  // namespace

void CudaKernels::soft_cap(const Matrix& x, float cap) {
  with_type(x.type, [&](auto element) {
    using T = decltype(element);
    launch_packs<pack_of<T>()>(device_.stream(), {x.rows, x.columns}, are_aligned({&x}),
                               SoftCapPacks<T>{write_rows<T>(x), cap});
  });
}

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

void CudaKernels::cross_entropy_statistics(const Matrix& logits, const Targets& targets, float* row_max, float* row_sum,
                                           float* target_logit) {
  if (logits.rows == 0) return;
  with_type(logits.type, [&](auto element) {
    using T = decltype(element);
    const auto rows = read_rows<T>(logits);
    launch(device_.stream(), num_blocks(logits.rows), threads_for(logits.columns), 0,
           are_aligned({&logits}) ? statistics_of_rows<pack_of<T>(), T> : statistics_of_rows<1, T>,
           bodies::CrossEntropyMax<T>{rows, row_max, logits.columns},
           bodies::CrossEntropySum<T>{rows, {targets, logits.columns}, row_max, row_sum, target_logit}, logits.rows);
  });
}

void CudaKernels::cross_entropy_gradient(const Matrix& logits, const Targets& targets, const float* row_max,
                                         const float* row_sum, const LossGradient& gradient) {
  if (logits.rows == 0 || logits.columns == 0) return;
  with_type(logits.type, [&](auto element) {
    using T = decltype(element);
    launch(
        device_.stream(), num_blocks(logits.rows), threads_for(logits.columns), 0,
        are_aligned({&logits}) ? gradients_of_rows<pack_of<T>(), T> : gradients_of_rows<1, T>,
        bodies::CrossEntropyGradient<T>{write_rows<T>(logits), {targets, logits.columns}, row_max, row_sum, gradient},
        logits.rows);
  });
}

}  // namespace pptrain
