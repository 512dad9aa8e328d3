#include "kernels/experts.hpp"

#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "kernels/launch.hpp"
#include "kernels/typed_rows.hpp"

namespace pptrain {

using namespace kernels;

namespace {

/// Softmax of a row over the experts that are asked for.
class RowSoftmax {
 public:
  RowSoftmax(const float* logits, std::size_t count) : logits_(logits), most_(-HUGE_VALF) {
    for (std::size_t e = 0; e < count; ++e) most_ = std::max(most_, logits[e]);
    for (std::size_t e = 0; e < count; ++e) sum_ += exponential(e);
  }
  /// Over those of the row's choice alone.
  RowSoftmax(const float* logits, const float* chosen, std::size_t count)
      : logits_(logits), most_(logits[at(chosen, 0)]) {
    for (std::size_t j = 0; j < count; ++j) sum_ += exponential(at(chosen, j));
  }

  static std::size_t at(const float* numbers, std::size_t j) { return static_cast<std::size_t>(numbers[j]); }
  float operator()(std::size_t expert) const { return exponential(expert) / sum_; }

 private:
  float exponential(std::size_t e) const { return std::exp(logits_[e] - most_); }

  const float* logits_;
  float most_;
  float sum_ = 0.0F;
};

/// Numbers of the largest logits, those of lower experts first where they are equal.
void choose(const float* logits, std::size_t experts, std::size_t chosen, float* numbers) {
  for (std::size_t j = 0; j < chosen; ++j) {
    std::size_t best = experts;
    for (std::size_t e = 0; e < experts; ++e) {
      bool taken = false;
      for (std::size_t i = 0; i < j; ++i) taken = taken || RowSoftmax::at(numbers, i) == e;
      if (!taken && (best == experts || logits[e] > logits[best])) best = e;
    }
    numbers[j] = static_cast<float>(best);
  }
}

}  // namespace

void choose_experts(const Matrix& logits, bool normalised, const Matrix& choice) {
  const std::size_t experts = logits.columns, chosen = choice.columns / 2;
  PPTRAIN_ASSERT(chosen > 0 && chosen <= experts && logits.rows == choice.rows, "{} of {} experts", chosen, experts);
  launch_rows("choose experts", 0, logits.rows, [=](const SerialTeam&, std::size_t row) {
    const float* x = logits.at<float>(row);
    float* weights = choice.at<float>(row);
    float* numbers = weights + chosen;
    choose(x, experts, chosen, numbers);
    const RowSoftmax softmax = normalised ? RowSoftmax(x, numbers, chosen) : RowSoftmax(x, experts);
    for (std::size_t j = 0; j < chosen; ++j) weights[j] = softmax(RowSoftmax::at(numbers, j));
  });
}

void limit_experts(std::size_t experts, std::size_t sample, std::size_t capacity, const Matrix& choice) {
  const std::size_t chosen = choice.columns / 2;
  PPTRAIN_ASSERT(choice.rows % sample == 0, "{} rows in samples of {}", choice.rows, sample);
  launch_rows("limit experts", 0, choice.rows / sample, [&](const SerialTeam&, std::size_t number) {
    std::vector<std::size_t> taken(experts, 0);
    for (std::size_t j = 0; j < chosen; ++j) {
      for (std::size_t row = number * sample; row < (number + 1) * sample; ++row) {
        float& expert = choice.at<float>(row, chosen)[j];
        if (++taken[static_cast<std::size_t>(expert)] > capacity) expert += static_cast<float>(experts);
      }
    }
  });
}

void choose_experts_backward(const Matrix& logits, const Matrix& choice, bool normalised, const Matrix& dchoice,
                             const Matrix& dlogits) {
  const std::size_t experts = logits.columns, chosen = choice.columns / 2;
  launch_rows("choose experts backward", 0, logits.rows, [=](const SerialTeam&, std::size_t row) {
    const float *weights = choice.at<float>(row), *numbers = weights + chosen, *given = dchoice.at<float>(row);
    float* out = dlogits.at<float>(row);
    float mean = 0.0F;
    for (std::size_t j = 0; j < chosen; ++j) mean += given[j] * weights[j];
    if (normalised) {
      for (std::size_t e = 0; e < experts; ++e) out[e] = 0.0F;
    } else {
      const RowSoftmax softmax(logits.at<float>(row), experts);
      for (std::size_t e = 0; e < experts; ++e) out[e] = -mean * softmax(e);
    }
    for (std::size_t j = 0; j < chosen; ++j) {
      out[RowSoftmax::at(numbers, j) % experts] += weights[j] * (normalised ? given[j] - mean : given[j]);
    }
  });
}

namespace {

/// Calls `use` with the number of each choice.
template <class Use>
void for_each_choice(const Matrix& choice, const Use& use) {
  const std::size_t chosen = choice.columns / 2;
  for (std::size_t row = 0; row < choice.rows; ++row) {
    for (std::size_t j = 0; j < chosen; ++j) use(RowSoftmax::at(choice.at<float>(row, chosen), j));
  }
}

}  // namespace

void count_experts(const Matrix& choice, std::size_t experts, double* counts) {
  for_each_choice(choice, [&](std::size_t number) {
    if (number < experts) counts[number] += 1.0;
  });
}

std::vector<double> expert_sums(const Matrix& logits, const Matrix& choice) {
  const std::size_t experts = logits.columns;
  std::vector<double> sums(2 * experts, 0.0);
  for_each_choice(choice, [&](std::size_t number) { sums[number % experts] += 1.0; });
  for (std::size_t row = 0; row < logits.rows; ++row) {
    const RowSoftmax softmax(logits.at<float>(row), experts);
    for (std::size_t e = 0; e < experts; ++e) sums[experts + e] += static_cast<double>(softmax(e));
  }
  return sums;
}

void weighted_softmax_gradient(const Matrix& logits, const std::vector<double>& weights, const Matrix& dlogits) {
  launch_rows("weighted softmax gradient", 0, logits.rows, [&](const SerialTeam&, std::size_t row) {
    const RowSoftmax softmax(logits.at<float>(row), logits.columns);
    double mean = 0.0;
    for (std::size_t e = 0; e < logits.columns; ++e) mean += weights[e] * static_cast<double>(softmax(e));
    for (std::size_t e = 0; e < logits.columns; ++e) {
      dlogits.at<float>(row)[e] = static_cast<float>(static_cast<double>(softmax(e)) * (weights[e] - mean));
    }
  });
}

namespace {
constexpr std::size_t elsewhere = static_cast<std::size_t>(-1);
}

ExpertOrder::ExpertOrder(const Matrix& choice, Interval own)
    : own_(own),
      rows_(choice.rows),
      chosen_(choice.columns / 2),
      begins_(static_cast<std::size_t>(own.size()) + 1, 0),
      places_(rows_ * chosen_, elsewhere) {
  // The expert's number among those that are here.
  const auto expert = [&](std::size_t row, std::size_t j) -> std::optional<std::size_t> {
    const std::size_t number = RowSoftmax::at(choice.at<float>(row, chosen_), j);
    return own.contains(static_cast<std::int64_t>(number)) ? std::optional(number - first()) : std::nullopt;
  };
  for (std::size_t row = 0; row < rows_; ++row) {
    for (std::size_t j = 0; j < chosen_; ++j) {
      if (const auto e = expert(row, j)) ++begins_[*e + 1];
    }
  }
  for (std::size_t e = 0; e + 1 < begins_.size(); ++e) begins_[e + 1] += begins_[e];
  std::vector<std::size_t> next = begins_;
  for (std::size_t row = 0; row < rows_; ++row) {
    for (std::size_t j = 0; j < chosen_; ++j) {
      if (const auto e = expert(row, j)) places_[row * chosen_ + j] = next[*e]++;
    }
  }
}

std::optional<std::size_t> ExpertOrder::place(std::size_t row, std::size_t j) const {
  const std::size_t place = places_[row * chosen_ + j];
  return place == elsewhere ? std::nullopt : std::optional(place);
}

std::vector<float> ExpertOrder::weights(const Matrix& choice) const {
  std::vector<float> weights(num_dispatched());
  for (std::size_t row = 0; row < rows_; ++row) {
    for (std::size_t j = 0; j < chosen_; ++j) {
      if (const auto to = place(row, j)) weights[*to] = choice.at<float>(row)[j];
    }
  }
  return weights;
}

void dispatch_rows(const ExpertOrder& order, const Matrix& x, const Matrix& out) {
  PPTRAIN_ASSERT(x.type == out.type && out.rows == order.num_dispatched(), "{} dispatched rows", out.rows);
  with_type(x.type, [&](auto element) {
    using T = decltype(element);
    launch_rows("dispatch", 0, order.rows(), [&](const SerialTeam&, std::size_t row) {
      for (std::size_t j = 0; j < order.chosen(); ++j) {
        if (const auto to = order.place(row, j)) std::memcpy(out.at<T>(*to), x.at<T>(row), x.columns * sizeof(T));
      }
    });
  });
}

void combine_rows(const ExpertOrder& order, const Matrix& x, const Matrix& out) {
  PPTRAIN_ASSERT(x.type == DType::f32 && out.type == DType::f32 && out.rows == order.rows(), "{} rows", out.rows);
  launch_rows("combine", 0, order.rows(), [&](const SerialTeam& team, std::size_t row) {
    float* sum = out.at<float>(row);
    bool any = false;
    for (std::size_t j = 0; j < order.chosen(); ++j) {
      const auto from = order.place(row, j);
      if (!from) continue;
      const float* more = x.at<float>(*from);
      if (any) {
        team.for_each(out.columns, [=](std::size_t c) { sum[c] += more[c]; });
      } else {
        team.for_each(out.columns, [=](std::size_t c) { sum[c] = more[c]; });
      }
      any = true;
    }
    if (!any) team.for_each(out.columns, [=](std::size_t c) { sum[c] = 0.0F; });
  });
}

void weigh_rows(const Matrix& x, const std::vector<float>& weights, const Matrix& out) {
  PPTRAIN_ASSERT(x.type == out.type && weights.size() == x.rows, "{} weights of {} rows", weights.size(), x.rows);
  with_type(x.type, [&](auto element) {
    using T = decltype(element);
    launch_rows("weigh rows", 0, x.rows, [&](const SerialTeam& team, std::size_t row) {
      const T* from = x.at<T>(row);
      T* to = out.at<T>(row);
      const float weight = weights[row];
      team.for_each(x.columns, [=](std::size_t c) { to[c] = static_cast<T>(weight * static_cast<float>(from[c])); });
    });
  });
}

std::vector<float> row_products(const Matrix& x, const Matrix& y) {
  PPTRAIN_ASSERT(x.type == y.type && x.rows == y.rows && x.columns == y.columns, "{} and {} rows", x.rows, y.rows);
  std::vector<float> products(x.rows);
  with_type(x.type, [&](auto element) {
    using T = decltype(element);
    launch_rows("row products", 0, x.rows, [&](const SerialTeam& team, std::size_t row) {
      const T *a = x.at<T>(row), *b = y.at<T>(row);
      products[row] =
          team.sum(x.columns, [=](std::size_t c) { return static_cast<float>(a[c]) * static_cast<float>(b[c]); });
    });
  });
  return products;
}

}  // namespace pptrain
