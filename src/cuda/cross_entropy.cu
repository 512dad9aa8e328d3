#include "cuda/kernels.hpp"
#include "cuda/packs.hpp"
#include "kernels/bodies/cross_entropy.hpp"
#include "kernels/bodies/typed_rows.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

/// f(values) for a row's values that this thread of the block visits: arrays of N neighbours,
/// loaded together, and of one each at the row's end.
template <unsigned N, class T, class F>
PPTRAIN_FUNCTION void visit_packs(const T* row, std::size_t columns, unsigned thread,
                                  unsigned threads, const F& f) {
  const std::size_t packs = columns / N;
  for (std::size_t p = thread; p < packs; p += threads) {
    const Pack<T, N> pack(row + p * N);
    float values[N];
    for (unsigned e = 0; e < N; ++e) values[e] = static_cast<float>(pack.values[e]);
    f(values);
  }
  for (std::size_t c = packs * N + thread; c < columns; c += threads) {
    const float values[1] = {static_cast<float>(row[c])};
    f(values);
  }
}

/// f(value) for each of them.
template <unsigned N, class T, class F>
PPTRAIN_FUNCTION void visit_values(const T* row, std::size_t columns, unsigned thread,
                                   unsigned threads, const F& f) {
  visit_packs<N>(row, columns, thread, threads, [&](const auto& values) {
    for (const float value : values) f(value);
  });
}

/// The largest value of a row, for all threads of the block.
template <unsigned N, class T>
PPTRAIN_FUNCTION float largest_of_row(const bodies::CrossEntropyMax<T>& body, std::size_t row,
                                      unsigned thread, unsigned threads, float* scratch) {
  float most = -__builtin_huge_valf();
  visit_values<N>(body.logits.row(row), body.columns, thread, threads,
                  [&](float value) { most = Larger()(most, value); });
  return combine_block(most, -__builtin_huge_valf(), thread, threads, scratch, Larger());
}

/// bodies::CrossEntropySum of a row whose largest value over all shards is `most`.
template <unsigned N, class T>
PPTRAIN_FUNCTION void sum_row(const bodies::CrossEntropySum<T>& body, std::size_t row, float most,
                              unsigned thread, unsigned threads, float* scratch) {
  const T* logits = body.logits.row(row);
  float total = 0, all = 0;
  visit_values<N>(logits, body.targets.columns, thread, threads,
                  [&](float value) { total += fast_exp(value - most); });
  total = combine_block(total, 0.0f, thread, threads, scratch, Plus());
  if (body.targets.uniform != 0.0f) {
    visit_values<N>(logits, body.targets.columns, thread, threads,
                    [&](float value) { all += value; });
    all = combine_block(all, 0.0f, thread, threads, scratch, Plus());
  }
  if (thread == 0) body.finish(row, total, all);
}

/// bodies::CrossEntropyMax, a block per row.
template <unsigned N, class T>
__global__ void __launch_bounds__(most_threads)
    largest_of_rows(bodies::CrossEntropyMax<T> body, std::size_t rows) {
  __shared__ float scratch[warp_size];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float most = largest_of_row<N>(body, row, threadIdx.x, blockDim.x, scratch);
    if (threadIdx.x == 0) body.row_max[row] = most;
  }
}

/// bodies::CrossEntropySum, a block per row.
template <unsigned N, class T>
__global__ void __launch_bounds__(most_threads)
    sums_of_rows(bodies::CrossEntropySum<T> body, std::size_t rows) {
  __shared__ float scratch[warp_size];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    sum_row<N>(body, row, body.row_max[row], threadIdx.x, blockDim.x, scratch);
  }
}

/// The largest of some logits and the sum of exp(logit - largest), which grow with each logit that
/// is read (Milakov and Gimelshein, arXiv:1805.02867, algorithm 3).
struct RunningSum {
  float most = -__builtin_huge_valf(), total = 0;

  template <unsigned N>
  PPTRAIN_FUNCTION void add(const float (&values)[N]) {
    float next = most;
    for (const float value : values) next = Larger()(next, value);
    total *= fast_exp(most - finite(next));
    most = next;
    for (const float value : values) total += fast_exp(value - finite(most));
  }
  /// The sum where `largest` is the largest of more logits than these.
  PPTRAIN_FUNCTION float below(float largest) const {
    return total * fast_exp(most - finite(largest));
  }

 private:
  /// Nothing is subtracted where all logits so far are minus infinity: their exponentials are zero.
  PPTRAIN_FUNCTION static float finite(float most) {
    return most == -__builtin_huge_valf() ? 0.0f : most;
  }
};

/// The largest logit of a row that is whole, and the sum that belongs to it, for all threads of the
/// block.
struct RowStatistics {
  float most, total;
};

/// bodies::CrossEntropyMax and CrossEntropySum of a row that is whole, in one pass over its logits.
template <unsigned N, class T>
PPTRAIN_FUNCTION RowStatistics statistics_of_row(const bodies::CrossEntropyMax<T>& largest,
                                                 const bodies::CrossEntropySum<T>& sums,
                                                 std::size_t row, unsigned thread, unsigned threads,
                                                 float* scratch) {
  RunningSum running;
  float all = 0;
  visit_packs<N>(largest.logits.row(row), largest.columns, thread, threads,
                 [&](const auto& values) {
                   for (const float value : values) all += value;
                   running.add(values);
                 });
  const float most =
      combine_block(running.most, -__builtin_huge_valf(), thread, threads, scratch, Larger());
  const float total = combine_block(running.below(most), 0.0f, thread, threads, scratch, Plus());
  if (sums.targets.uniform != 0.0f)
    all = combine_block(all, 0.0f, thread, threads, scratch, Plus());
  if (thread == 0) {
    largest.row_max[row] = most;
    sums.finish(row, total, all);
  }
  return {most, sums.sum_of(row, total)};
}

/// A block per row.
template <unsigned N, class T>
__global__ void __launch_bounds__(most_threads)
    statistics_of_rows(bodies::CrossEntropyMax<T> largest, bodies::CrossEntropySum<T> sums,
                       std::size_t rows) {
  __shared__ float scratch[warp_size];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    statistics_of_row<N>(largest, sums, row, threadIdx.x, blockDim.x, scratch);
  }
}

/// bodies::CrossEntropyGradient of N neighbours from column `c`, loaded and stored together.
template <unsigned N, class T>
PPTRAIN_FUNCTION void apply_gradient(const bodies::RowGradient& of, bool is_capped, T* row,
                                     std::size_t c) {
  Pack<T, N> pack(row + c);
  const std::int64_t behind = of.hit - static_cast<std::int64_t>(c);
  const int hit =
      behind >= 0 && behind < static_cast<std::int64_t>(N) ? static_cast<int>(behind) : -1;
  for (unsigned e = 0; e < N; ++e) {
    const auto logit = static_cast<float>(pack.values[e]);
    float gradient = of(logit, static_cast<int>(e) == hit ? of.own + of.uniform : of.uniform);
    if (is_capped) gradient *= of.of_cap(logit);
    store(pack.values[e], gradient);
  }
  pack.store(row + c);
}

template <unsigned N, class T>
PPTRAIN_FUNCTION void gradient_of_row(const bodies::CrossEntropyGradient<T>& body,
                                      const bodies::RowGradient& of, std::size_t row,
                                      unsigned thread, unsigned threads) {
  const std::size_t columns = body.targets.columns, packs = columns / N;
  const bool is_capped = body.gradient.cap > 0.0f;
  T* logits = body.logits.row(row);
  for (std::size_t p = thread; p < packs; p += threads)
    apply_gradient<N>(of, is_capped, logits, p * N);
  for (std::size_t c = packs * N + thread; c < columns; c += threads)
    apply_gradient<1>(of, is_capped, logits, c);
}

/// A block per row: blocks that end after one pack take longer to come and go than to compute.
template <unsigned N, class T>
__global__ void __launch_bounds__(most_threads)
    gradients_of_rows(bodies::CrossEntropyGradient<T> body, std::size_t rows) {
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    gradient_of_row<N>(body, body.of_row(row), row, threadIdx.x, blockDim.x);
  }
}

/// Statistics and gradient of rows that are whole, a block per row: what is read for the second
/// time is in a cache.
template <unsigned N, class T>
__global__ void __launch_bounds__(most_threads)
    losses_of_rows(bodies::CrossEntropyMax<T> largest, bodies::CrossEntropySum<T> sums,
                   bodies::CrossEntropyGradient<T> gradient, std::size_t rows) {
  __shared__ float scratch[warp_size];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const RowStatistics of =
        statistics_of_row<N>(largest, sums, row, threadIdx.x, blockDim.x, scratch);
    sync_block();  // the target's logit has been read
    gradient_of_row<N>(gradient, gradient.of_row(row, of.most, of.total), row, threadIdx.x,
                       blockDim.x);
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

/// Threads for a row: `most` where it is long.
unsigned threads_for(std::size_t columns, unsigned most = 512U) {
  return columns < 8192 ? 256U : most;
}

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

void CudaKernels::cross_entropy_sum(const Matrix& logits, const Targets& targets,
                                    const float* row_max, float* row_sum, float* target_logit) {
  if (logits.rows == 0) return;
  with_type(logits.type, [&](auto element) {
    using T = decltype(element);
    launch(device_.stream(), num_blocks(logits.rows), threads_for(logits.columns), 0,
           are_aligned({&logits}) ? sums_of_rows<pack_of<T>(), T> : sums_of_rows<1, T>,
           bodies::CrossEntropySum<T>{
               read_rows<T>(logits), {targets, logits.columns}, row_max, row_sum, target_logit},
           logits.rows);
  });
}

void CudaKernels::cross_entropy_statistics(const Matrix& logits, const Targets& targets,
                                           float* row_max, float* row_sum, float* target_logit) {
  if (logits.rows == 0) return;
  with_type(logits.type, [&](auto element) {
    using T = decltype(element);
    const auto rows = read_rows<T>(logits);
    launch(
        device_.stream(), num_blocks(logits.rows), threads_for(logits.columns), 0,
        are_aligned({&logits}) ? statistics_of_rows<pack_of<T>(), T> : statistics_of_rows<1, T>,
        bodies::CrossEntropyMax<T>{rows, row_max, logits.columns},
        bodies::CrossEntropySum<T>{rows, {targets, logits.columns}, row_max, row_sum, target_logit},
        logits.rows);
  });
}

void CudaKernels::cross_entropy_at_once(const Matrix& logits, const Targets& targets,
                                        float* row_max, float* row_sum, float* target_logit,
                                        const LossGradient& gradient) {
  if (logits.rows == 0 || logits.columns == 0) return;
  with_type(logits.type, [&](auto element) {
    using T = decltype(element);
    const auto rows = read_rows<T>(logits);
    const bodies::ShardTargets of_rows{targets, logits.columns};
    // Large blocks are few at a time, so that their rows stay in the cache.
    launch(
        device_.stream(), num_blocks(logits.rows), threads_for(logits.columns, most_threads), 0,
        are_aligned({&logits}) ? losses_of_rows<pack_of<T>(), T> : losses_of_rows<1, T>,
        bodies::CrossEntropyMax<T>{rows, row_max, logits.columns},
        bodies::CrossEntropySum<T>{rows, of_rows, row_max, row_sum, target_logit},
        bodies::CrossEntropyGradient<T>{write_rows<T>(logits), of_rows, row_max, row_sum, gradient},
        logits.rows);
  });
}

void CudaKernels::cross_entropy_gradient(const Matrix& logits, const Targets& targets,
                                         const float* row_max, const float* row_sum,
                                         const LossGradient& gradient) {
  if (logits.rows == 0 || logits.columns == 0) return;
  with_type(logits.type, [&](auto element) {
    using T = decltype(element);
    launch(device_.stream(), num_blocks(logits.rows), threads_for(logits.columns), 0,
           are_aligned({&logits}) ? gradients_of_rows<pack_of<T>(), T> : gradients_of_rows<1, T>,
           bodies::CrossEntropyGradient<T>{
               write_rows<T>(logits), {targets, logits.columns}, row_max, row_sum, gradient},
           logits.rows);
  });
}

}  // namespace pptrain
