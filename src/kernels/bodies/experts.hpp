#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/bodies/row_team.hpp"

/// Rows of a router and rows on their way to experts (kernels/experts.hpp). Bodies without a team
/// compute a row alone.
namespace pptrain::kernels::bodies {

/// Softmax of a row over the experts that are asked for.
class RowSoftmax {
 public:
  PPTRAIN_FUNCTION RowSoftmax(const float* logits, std::size_t count)
      : logits_(logits), most_(-__builtin_huge_valf()), sum_(0.0f) {
    for (std::size_t e = 0; e < count; ++e) most_ = most_ < logits[e] ? logits[e] : most_;
    for (std::size_t e = 0; e < count; ++e) sum_ += exponential(e);
  }
  /// Over those of the row's choice alone.
  PPTRAIN_FUNCTION RowSoftmax(const float* logits, const float* chosen, std::size_t count)
      : logits_(logits), most_(logits[at(chosen, 0)]), sum_(0.0f) {
    for (std::size_t j = 0; j < count; ++j) sum_ += exponential(at(chosen, j));
  }

  PPTRAIN_FUNCTION static std::size_t at(const float* numbers, std::size_t j) {
    return static_cast<std::size_t>(numbers[j]);
  }
  PPTRAIN_FUNCTION float operator()(std::size_t expert) const { return exponential(expert) / sum_; }

 private:
  PPTRAIN_FUNCTION float exponential(std::size_t e) const { return std::exp(logits_[e] - most_); }

  const float* logits_;
  float most_;
  float sum_;
};

struct ChooseExperts {
  Rows<const float> logits;
  Rows<float> choice;
  std::size_t experts, chosen;
  bool normalised;

  PPTRAIN_FUNCTION void operator()(std::size_t row) const {
    const float* x = logits.row(row);
    float *weights = choice.row(row), *numbers = weights + chosen;
    for (std::size_t j = 0; j < chosen; ++j)
      numbers[j] = static_cast<float>(largest_left(x, numbers, j));
    const RowSoftmax softmax = normalised ? RowSoftmax(x, numbers, chosen) : RowSoftmax(x, experts);
    for (std::size_t j = 0; j < chosen; ++j) weights[j] = softmax(RowSoftmax::at(numbers, j));
  }

 private:
  /// The number of the largest logit beside the first `taken` of `numbers`, of equal ones the
  /// lowest.
  PPTRAIN_FUNCTION std::size_t largest_left(const float* x, const float* numbers,
                                            std::size_t taken) const {
    std::size_t best = experts;
    for (std::size_t e = 0; e < experts; ++e) {
      bool is_taken = false;
      for (std::size_t i = 0; i < taken; ++i)
        is_taken = is_taken || RowSoftmax::at(numbers, i) == e;
      if (!is_taken && (best == experts || x[e] > x[best])) best = e;
    }
    return best;
  }
};

struct ChooseExpertsBackward {
  Rows<const float> logits, choice, dchoice;
  Rows<float> dlogits;
  std::size_t experts, chosen;
  bool normalised;

  PPTRAIN_FUNCTION void operator()(std::size_t row) const {
    const float *weights = choice.row(row), *numbers = weights + chosen, *given = dchoice.row(row);
    float* out = dlogits.row(row);
    float mean = 0.0f;
    for (std::size_t j = 0; j < chosen; ++j) mean += given[j] * weights[j];
    if (normalised) {
      for (std::size_t e = 0; e < experts; ++e) out[e] = 0.0f;
    } else {
      const RowSoftmax softmax(logits.row(row), experts);
      for (std::size_t e = 0; e < experts; ++e) out[e] = -mean * softmax(e);
    }
    for (std::size_t j = 0; j < chosen; ++j) {
      out[RowSoftmax::at(numbers, j) % experts] +=
          weights[j] * (normalised ? given[j] - mean : given[j]);
    }
  }
};

struct WeightedSoftmaxGradient {
  Rows<const float> logits;
  const float* weights;
  double factor;
  Rows<float> dlogits;
  std::size_t experts;

  PPTRAIN_FUNCTION void operator()(std::size_t row) const {
    const RowSoftmax softmax(logits.row(row), experts);
    float* out = dlogits.row(row);
    double mean = 0.0;
    for (std::size_t e = 0; e < experts; ++e) mean += weight(e) * static_cast<double>(softmax(e));
    for (std::size_t e = 0; e < experts; ++e) {
      out[e] = static_cast<float>(static_cast<double>(softmax(e)) * (weight(e) - mean));
    }
  }

 private:
  PPTRAIN_FUNCTION double weight(std::size_t e) const {
    return factor * static_cast<double>(weights[e]);
  }
};

template <class T>
struct DispatchRow {
  const std::int32_t* places;  ///< (rows, chosen), below 0: nowhere
  std::size_t chosen;
  Rows<const T> x;
  Rows<T> out;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const T* from = x.row(row);
    for (std::size_t j = 0; j < chosen; ++j) {
      const std::int32_t place = places[row * chosen + j];
      if (place < 0) continue;
      T* to = out.row(static_cast<std::size_t>(place));
      team.for_each(columns, [=](std::size_t c) { to[c] = from[c]; });
    }
  }
};

struct CombineRow {
  const std::int32_t* places;
  std::size_t chosen;
  Rows<const float> x;
  Rows<float> out;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    float* sum = out.row(row);
    bool any = false;
    for (std::size_t j = 0; j < chosen; ++j) {
      const std::int32_t place = places[row * chosen + j];
      if (place < 0) continue;
      const float* more = x.row(static_cast<std::size_t>(place));
      if (any) {
        team.for_each(columns, [=](std::size_t c) { sum[c] += more[c]; });
      } else {
        team.for_each(columns, [=](std::size_t c) { sum[c] = more[c]; });
      }
      any = true;
    }
    if (!any) team.for_each(columns, [=](std::size_t c) { sum[c] = 0.0f; });
  }
};

/// The weights of a row's choices, by place.
struct TakeWeights {
  const std::int32_t* places;
  std::size_t chosen;
  Rows<const float> choice;
  float* weights;

  PPTRAIN_FUNCTION void operator()(std::size_t row) const {
    for (std::size_t j = 0; j < chosen; ++j) {
      const std::int32_t place = places[row * chosen + j];
      if (place >= 0) weights[place] = choice.row(row)[j];
    }
  }
};

/// What the places have, by row and choice, and 0 for all else.
struct GiveWeights {
  const std::int32_t* places;
  std::size_t chosen;
  const float* of_places;
  Rows<float> dchoice;
  std::size_t columns;

  PPTRAIN_FUNCTION void operator()(std::size_t row) const {
    float* to = dchoice.row(row);
    for (std::size_t c = 0; c < columns; ++c) {
      const std::int32_t place = c < chosen ? places[row * chosen + c] : -1;
      to[c] = place < 0 ? 0.0f : of_places[place];
    }
  }
};

/// Weight, expert and sender of a row's choices, by place.
struct PackChoices {
  const std::int32_t* places;
  std::size_t chosen;
  Rows<const float> choice;
  float sender;
  Rows<float> packed;

  PPTRAIN_FUNCTION void operator()(std::size_t row) const {
    const float* from = choice.row(row);
    for (std::size_t j = 0; j < chosen; ++j) {
      const std::int32_t place = places[row * chosen + j];
      if (place < 0) continue;
      float* to = packed.row(static_cast<std::size_t>(place));
      to[0] = from[j];
      to[1] = from[chosen + j];
      to[2] = sender;
    }
  }
};

template <class T>
struct WeighRow {
  Rows<const T> x;
  const float* weights;
  Rows<T> out;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const T* from = x.row(row);
    T* to = out.row(row);
    const float weight = weights[row];
    team.for_each(columns,
                  [=](std::size_t c) { store(to[c], weight * static_cast<float>(from[c])); });
  }
};

template <class T>
struct RowProduct {
  Rows<const T> x, y;
  float* products;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const T *a = x.row(row), *b = y.row(row);
    const float product = team.sum(columns, [=](std::size_t c) {
      return static_cast<float>(a[c]) * static_cast<float>(b[c]);
    });
    team.once([&] { products[row] = product; });
  }
};

struct Sigmoid {
  Rows<const float> logits;
  float* weights;

  PPTRAIN_FUNCTION void operator()(std::size_t row) const {
    weights[row] = 1.0f / (1.0f + std::exp(-*logits.row(row)));
  }
};

struct SigmoidBackward {
  const float *products, *weights;
  Rows<float> dlogits;

  PPTRAIN_FUNCTION void operator()(std::size_t row) const {
    *dlogits.row(row) = products[row] * weights[row] * (1.0f - weights[row]);
  }
};

}  // namespace pptrain::kernels::bodies
