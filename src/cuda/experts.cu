#include "cuda/device.hpp"
#include "cuda/experts.hpp"
#include "cuda/packs.hpp"
#include "cuda/scratch.hpp"
#include "kernels/bodies/launched_experts.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;
using bodies::RowSoftmax;

namespace {

constexpr unsigned block_threads = 256;

/// A thread per row.
template <class Body>
struct Each {
  Body body;
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t, std::size_t row) const {
    body(row);
  }
};

/// Launches on the device's compute stream.
struct CudaLaunch {
  ComputeStream* stream;

  template <class Body>
  void each(const char* /*name*/, std::size_t num_rows, const Body& body) const {
    launch_packs<1>(*stream, {1, num_rows}, true, Each<Body>{body});
  }
  template <class Body>
  void rows(const char* /*name*/, std::size_t num_rows, std::size_t columns,
            const Body& body) const {
    launch_rows(*stream, num_rows, columns, body);
  }
};

/// The choices of all rows, row by row.
struct Choices {
  Rows<float> choice;
  unsigned rows, chosen;

  PPTRAIN_FUNCTION unsigned count() const { return rows * chosen; }
  PPTRAIN_FUNCTION float& number(unsigned i) const {
    return choice.row(i / chosen)[chosen + i % chosen];
  }
};

Choices choices_of(const Matrix& choice) {
  return {write_rows<float>(choice), static_cast<unsigned>(choice.rows),
          static_cast<unsigned>(choice.columns / 2)};
}

/// Whether an expert is full before a choice of a sample: as many of its rows have it as an earlier
/// choice, or are earlier rows that have it as the same one. A thread per choice counts them.
struct IsTooMany {
  Choices all;
  unsigned sample, capacity;
  std::uint8_t* too_many;

  PPTRAIN_FUNCTION void operator()(std::size_t i) const {
    const auto at = static_cast<unsigned>(i);
    const unsigned row = at / all.chosen, j = at % all.chosen, first = row / sample * sample;
    const float mine = all.number(at);
    unsigned before = 0;
    for (unsigned k = 0; k <= j; ++k) {
      const unsigned end = k < j ? first + sample : row;
      for (unsigned other = first; other < end; ++other) {
        before += all.number(other * all.chosen + k) == mine ? 1U : 0U;
      }
    }
    too_many[i] = before >= capacity ? std::uint8_t{1} : std::uint8_t{0};
  }
};

struct LeaveOut {
  Choices all;
  const std::uint8_t* too_many;
  float experts;

  PPTRAIN_FUNCTION void operator()(std::size_t i) const {
    if (too_many[i] != 0) all.number(static_cast<unsigned>(i)) += experts;
  }
};

/// A block per expert.
__global__ void count_choices(Choices all, std::int64_t first, std::int32_t* counts) {
  __shared__ double scratch[warp_size];
  const auto mine = static_cast<float>(first + blockIdx.x);
  double count = 0;
  for (unsigned i = threadIdx.x; i < all.count(); i += blockDim.x)
    count += all.number(i) == mine ? 1.0 : 0.0;
  count = combine_block(count, 0.0, threadIdx.x, blockDim.x, scratch, Plus());
  if (threadIdx.x == 0) counts[blockIdx.x] = static_cast<std::int32_t>(count);
}

/// A block per expert gives the rows that have chosen it their places, as many at once as it has
/// threads.
__global__ void place_choices(Choices all, std::int64_t first, const std::int32_t* begins,
                              std::int32_t* places) {
  __shared__ std::uint8_t is_mine[block_threads];
  const auto mine = static_cast<float>(first + blockIdx.x);
  std::int32_t next = begins[blockIdx.x];
  for (unsigned from = 0; from < all.count(); from += block_threads) {
    const unsigned i = from + threadIdx.x;
    const bool goes_here = i < all.count() && all.number(i) == mine;
    is_mine[threadIdx.x] = goes_here ? std::uint8_t{1} : std::uint8_t{0};
    sync_block();
    std::int32_t before = 0, together = 0;
    for (unsigned t = 0; t < block_threads; ++t) {
      before += t < threadIdx.x ? is_mine[t] : 0;
      together += is_mine[t];
    }
    if (goes_here) places[i] = next + before;
    next += together;
    sync_block();
  }
}

/// A block per expert: how many have wanted it, and the sum of its softmax, each thread some rows
/// in order.
__global__ void sum_expert(Choices all, Rows<const float> logits, unsigned experts, double* sums) {
  __shared__ double scratch[warp_size];
  const unsigned mine = blockIdx.x;
  double wanted = 0, softmax_sum = 0;
  for (unsigned i = threadIdx.x; i < all.count(); i += blockDim.x) {
    wanted += static_cast<unsigned>(all.number(i)) % experts == mine ? 1.0 : 0.0;
  }
  for (unsigned row = threadIdx.x; row < all.rows; row += blockDim.x) {
    softmax_sum += static_cast<double>(RowSoftmax(logits.row(row), experts)(mine));
  }
  wanted = combine_block(wanted, 0.0, threadIdx.x, blockDim.x, scratch, Plus());
  softmax_sum = combine_block(softmax_sum, 0.0, threadIdx.x, blockDim.x, scratch, Plus());
  if (threadIdx.x != 0) return;
  sums[mine] = wanted;
  sums[experts + mine] = softmax_sum;
}

/// The shared bodies, launched on a GPU's compute stream. A block looks for the rows of one expert.
class CudaExperts final : public LaunchedExperts<CudaLaunch> {
 public:
  explicit CudaExperts(CudaDevice& device)
      : LaunchedExperts(CudaLaunch{&device.stream()}), device_(device), scratch_(device) {}
  void limit(std::size_t experts, std::size_t sample, std::size_t capacity,
             const Matrix& choice) override;
  void sum(const Matrix& logits, const Matrix& choice, double* sums) override;
  void count(const Matrix& choice, std::int64_t first, std::size_t experts,
             std::int32_t* counts) override;
  void place(const Matrix& choice, std::int64_t first, std::size_t experts,
             const std::int32_t* begins, std::int32_t* places) override;

 private:
  CudaDevice& device_;
  Scratch scratch_;
};

void CudaExperts::limit(std::size_t experts, std::size_t sample, std::size_t capacity,
                        const Matrix& choice) {
  const Choices all = choices_of(choice);
  auto* too_many = scratch_.take<std::uint8_t>(all.count());
  launch_.each(
      "limit experts", all.count(),
      IsTooMany{all, static_cast<unsigned>(sample), static_cast<unsigned>(capacity), too_many});
  launch_.each("limit experts", all.count(), LeaveOut{all, too_many, static_cast<float>(experts)});
}

void CudaExperts::sum(const Matrix& logits, const Matrix& choice, double* sums) {
  const auto experts = static_cast<unsigned>(logits.columns);
  launch(device_.stream(), experts, block_threads, 0, sum_expert, choices_of(choice),
         read_rows<float>(logits), experts, sums);
}

void CudaExperts::count(const Matrix& choice, std::int64_t first, std::size_t experts,
                        std::int32_t* counts) {
  if (experts == 0) return;
  launch(device_.stream(), static_cast<unsigned>(experts), block_threads, 0, count_choices,
         choices_of(choice), first, counts);
}

void CudaExperts::place(const Matrix& choice, std::int64_t first, std::size_t experts,
                        const std::int32_t* begins, std::int32_t* places) {
  device_.fill(places, 0xff, choice.rows * (choice.columns / 2) * sizeof(std::int32_t));  // all are
                                                                                          // -1
  if (experts == 0) return;
  launch(device_.stream(), static_cast<unsigned>(experts), block_threads, 0, place_choices,
         choices_of(choice), first, begins, places);
}

}  // namespace

std::unique_ptr<ExpertKernels> make_cuda_experts(CudaDevice& device) {
  return std::make_unique<CudaExperts>(device);
}

}  // namespace pptrain
