#pragma once

#include <cstddef>
#include <vector>

#include "tensor/tensor.hpp"

/// What a feed-forward part with experts computes beside products and gates, on the host. Rows are tokens, R of them;
/// each goes to k experts, so that R * k rows are *dispatched*: expert by expert, for each in the order of the tokens.
/// All results depend on a row and what belongs to it alone, in a fixed order.
namespace pptrain {

/// Chooses k experts for every row of logits (R, E) f32. choice (R, 2k) f32 gets their weights, the largest first and
/// of equal ones that of the lower number, then their numbers. A weight is the softmax over all E or, `normalised`,
/// over the k chosen ones. Where logits are NaN so are weights.
void choose_experts(const Matrix& logits, bool normalised, const Matrix& choice);

/// dlogits (R, E) f32 from the gradient of the weights, the first k columns of dchoice (R, 2k) f32.
void choose_experts_backward(const Matrix& logits, const Matrix& choice, bool normalised, const Matrix& dchoice,
                             const Matrix& dlogits);

/// For each of E experts how many rows have chosen it, then the sum of its softmax over all experts: 2E numbers, sums
/// over the rows of logits (R, E) and choice (R, 2k) f32.
std::vector<double> expert_sums(const Matrix& logits, const Matrix& choice);

/// dlogits (R, E) f32 of the sum over rows and experts of weights (E) * softmax(logits).
void weighted_softmax_gradient(const Matrix& logits, const std::vector<double>& weights, const Matrix& dlogits);

/// The places of dispatched rows, from what `choose_experts` has chosen.
class ExpertOrder {
 public:
  ExpertOrder(const Matrix& choice, std::size_t experts);

  std::size_t rows() const { return rows_; }
  std::size_t chosen() const { return chosen_; }
  /// The dispatched rows of an expert are [begin(e), begin(e + 1)).
  std::size_t begin(std::size_t expert) const { return begins_[expert]; }
  std::size_t count(std::size_t expert) const { return begins_[expert + 1] - begins_[expert]; }
  /// The dispatched row that holds row `row` for its choice `j` < k.
  std::size_t place(std::size_t row, std::size_t j) const { return places_[row * chosen_ + j]; }
  /// The weights of the choices, by place.
  std::vector<float> weights(const Matrix& choice) const;

 private:
  std::size_t rows_, chosen_;
  std::vector<std::size_t> begins_;  ///< of each expert's rows, and their end
  std::vector<std::size_t> places_;
};

/// out (R * k, C) = the rows of x (R, C), dispatched; of one type.
void dispatch_rows(const ExpertOrder& order, const Matrix& x, const Matrix& out);

/// out (R, C) f32 = for every row the sum of its k dispatched rows of x (R * k, C) f32, that of the first choice first.
void combine_rows(const ExpertOrder& order, const Matrix& x, const Matrix& out);

/// out = x with each row times its weight; x and out (R, C) T may be the same.
void weigh_rows(const Matrix& x, const std::vector<float>& weights, const Matrix& out);

/// For every row the sum of the products of x and y (R, C) T.
std::vector<float> row_products(const Matrix& x, const Matrix& y);

}  // namespace pptrain
