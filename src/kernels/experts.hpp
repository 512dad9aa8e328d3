#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/interval.hpp"
#include "tensor/tensor.hpp"

/// What a feed-forward part with experts computes beside products and gates, on the host. Rows are tokens, R of them;
/// each goes to k experts, so that R * k rows are *dispatched*: expert by expert, for each in the order of the tokens.
/// A member that has some of the experts has the D <= R * k rows that go to these. All results depend on a row and what
/// belongs to it alone, in a fixed order.
namespace pptrain {

/// Chooses k experts for every row of logits (R, E) f32. choice (R, 2k) f32 gets their weights, the largest first and
/// of equal ones that of the lower number, then their numbers. A weight is the softmax over all E or, `normalised`,
/// over the k chosen ones. Where logits are NaN so are weights.
void choose_experts(const Matrix& logits, bool normalised, const Matrix& choice);

/// Leaves out choices that are too many for an expert: of every `sample` rows it takes `capacity`, those of first
/// choices before those of second ones, of equal ones those of earlier rows. E is added to the number of a choice that
/// is left out; its weight stays.
void limit_experts(std::size_t experts, std::size_t sample, std::size_t capacity, const Matrix& choice);

/// dlogits (R, E) f32 from the gradient of the weights, the first k columns of dchoice (R, 2k) f32.
void choose_experts_backward(const Matrix& logits, const Matrix& choice, bool normalised, const Matrix& dchoice,
                             const Matrix& dlogits);

/// For each of E experts how many rows have chosen it, left out or not, then the sum of its softmax over all experts:
/// 2E numbers, sums over the rows of logits (R, E) and choice (R, 2k) f32.
std::vector<double> expert_sums(const Matrix& logits, const Matrix& choice);

/// Adds to `counts` (E) how many rows of choice (R, 2k) f32 go to each expert.
void count_experts(const Matrix& choice, std::size_t experts, double* counts);

/// dlogits (R, E) f32 of the sum over rows and experts of weights (E) * softmax(logits).
void weighted_softmax_gradient(const Matrix& logits, const std::vector<double>& weights, const Matrix& dlogits);

/// The places of dispatched rows, from what `choose_experts` has chosen.
class ExpertOrder {
 public:
  /// The order of the rows of choice (R, 2k) f32 for the experts in `own`, which are those that are here.
  ExpertOrder(const Matrix& choice, Interval own);

  std::size_t rows() const { return rows_; }
  std::size_t chosen() const { return chosen_; }
  /// D, of all experts that are here.
  std::size_t num_dispatched() const { return begins_.back(); }
  /// The dispatched rows of an expert that is here are [begin(e), begin(e + 1)).
  std::size_t begin(std::size_t expert) const { return begins_[expert - first()]; }
  std::size_t count(std::size_t expert) const { return begins_[expert - first() + 1] - begins_[expert - first()]; }
  /// The dispatched row that holds row `row` for its choice `j` < k; nothing: that expert is elsewhere, or full.
  std::optional<std::size_t> place(std::size_t row, std::size_t j) const;
  /// The weights of the choices, by place.
  std::vector<float> weights(const Matrix& choice) const;

 private:
  std::size_t first() const { return static_cast<std::size_t>(own_.begin); }

  Interval own_;
  std::size_t rows_, chosen_;
  std::vector<std::size_t> begins_;  ///< of each expert's rows, and their end
  std::vector<std::size_t> places_;
};

/// out (D, C) = the rows of x (R, C), dispatched; of one type.
void dispatch_rows(const ExpertOrder& order, const Matrix& x, const Matrix& out);

/// out (R, C) f32 = for every row the sum of its dispatched rows of x (D, C) f32, that of the first choice first.
void combine_rows(const ExpertOrder& order, const Matrix& x, const Matrix& out);

/// out = x with each row times its weight; x and out (R, C) T may be the same.
void weigh_rows(const Matrix& x, const std::vector<float>& weights, const Matrix& out);

/// For every row the sum of the products of x and y (R, C) T.
std::vector<float> row_products(const Matrix& x, const Matrix& y);

}  // namespace pptrain
