#include "base/error.hpp"
#include "kernels/bodies/launched_experts.hpp"
#include "kernels/host/launch.hpp"

namespace pptrain {

using namespace kernels;
using bodies::RowSoftmax;

namespace {

/// A piece of work per row.
struct HostLaunch {
  template <class Body>
  void each(const char* name, std::size_t num_rows, const Body& body) const {
    launch_rows(name, 0, num_rows, [=](const SerialTeam&, std::size_t row) { body(row); });
  }
  template <class Body>
  void rows(const char* name, std::size_t num_rows, std::size_t /*columns*/,
            const Body& body) const {
    launch_rows(name, 0, num_rows, body);
  }
};

/// Calls `use` with the row, the place among its choices, and the number of each choice.
template <class Use>
void for_each_choice(const Matrix& choice, const Use& use) {
  const std::size_t chosen = choice.columns / 2;
  for (std::size_t row = 0; row < choice.rows; ++row) {
    for (std::size_t j = 0; j < chosen; ++j)
      use(row, j, RowSoftmax::at(choice.at<float>(row, chosen), j));
  }
}

/// use(row, j, e) for the choices of the experts first + e, e < experts.
template <class Use>
void for_each_choice_of(const Matrix& choice, std::int64_t first, std::size_t experts,
                        const Use& use) {
  for_each_choice(choice, [&](std::size_t row, std::size_t j, std::size_t number) {
    const std::size_t e = number - static_cast<std::size_t>(first);  // of experts before the first,
                                                                     // very large
    if (e < experts) use(row, j, e);
  });
}

class HostExperts final : public LaunchedExperts<HostLaunch> {
 public:
  HostExperts() : LaunchedExperts(HostLaunch()) {}
  void limit(std::size_t experts, std::size_t sample, std::size_t capacity,
             const Matrix& choice) override;
  void sum(const Matrix& logits, const Matrix& choice, double* sums) override;
  void count(const Matrix& choice, std::int64_t first, std::size_t experts,
             std::int32_t* counts) override;
  void place(const Matrix& choice, std::int64_t first, std::size_t experts,
             const std::int32_t* begins, std::int32_t* places) override;
};

void HostExperts::limit(std::size_t experts, std::size_t sample, std::size_t capacity,
                        const Matrix& choice) {
  const std::size_t chosen = choice.columns / 2;
  PPTRAIN_ASSERT(choice.rows % sample == 0, "{} rows in samples of {}", choice.rows, sample);
  launch_.each("limit experts", choice.rows / sample, [&](std::size_t number) {
    std::vector<std::size_t> taken(experts, 0);
    for (std::size_t j = 0; j < chosen; ++j) {
      for (std::size_t row = number * sample; row < (number + 1) * sample; ++row) {
        float& expert = choice.at<float>(row, chosen)[j];
        if (++taken[static_cast<std::size_t>(expert)] > capacity)
          expert += static_cast<float>(experts);
      }
    }
  });
}

void HostExperts::sum(const Matrix& logits, const Matrix& choice, double* sums) {
  const std::size_t experts = logits.columns;
  std::fill_n(sums, 2 * experts, 0.0);
  for_each_choice(
      choice, [&](std::size_t, std::size_t, std::size_t number) { sums[number % experts] += 1.0; });
  for (std::size_t row = 0; row < logits.rows; ++row) {
    const RowSoftmax softmax(logits.at<float>(row), experts);
    for (std::size_t e = 0; e < experts; ++e) sums[experts + e] += static_cast<double>(softmax(e));
  }
}

void HostExperts::count(const Matrix& choice, std::int64_t first, std::size_t experts,
                        std::int32_t* counts) {
  std::fill_n(counts, experts, 0);
  for_each_choice_of(choice, first, experts,
                     [&](std::size_t, std::size_t, std::size_t e) { ++counts[e]; });
}

void HostExperts::place(const Matrix& choice, std::int64_t first, std::size_t experts,
                        const std::int32_t* begins, std::int32_t* places) {
  const std::size_t chosen = choice.columns / 2;
  std::fill_n(places, choice.rows * chosen, -1);
  std::vector<std::int32_t> next(begins, begins + experts);
  for_each_choice_of(choice, first, experts, [&](std::size_t row, std::size_t j, std::size_t e) {
    places[row * chosen + j] = next[e]++;
  });
}

}  // namespace

void check_experts_call(bool fit, const Matrix& x) {
  PPTRAIN_ASSERT(fit, "experts of matrices that do not fit one of ({}, {})", x.rows, x.columns);
}

ExpertKernels& host_experts() {
  static HostExperts experts;
  return experts;
}

}  // namespace pptrain
