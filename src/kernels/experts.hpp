#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/tensor.hpp"

/// What a feed-forward part with experts computes beside products and gates. Rows are tokens, R of
/// them; each goes to k experts, so that R * k rows are *dispatched*: expert by expert, for each in
/// the order of the tokens. A member that has some of the experts has the D <= R * k rows that go
/// to these. All results depend on a row and what belongs to it alone, in a fixed order. C++17.
namespace pptrain {

/// Places of dispatched rows: in row-major order of (rows, chosen) the dispatched row of each
/// choice, or below 0 where its expert is elsewhere or full.
struct ExpertPlaces {
  const std::int32_t* data = nullptr;  ///< in the memory of the device
  std::size_t rows = 0, chosen = 0;
};

/// The kernels of one device, in whose memory all arrays and matrices are; `Kernels` says what
/// holds for calls.
class ExpertKernels {
 public:
  virtual ~ExpertKernels() = default;

  /// Chooses k experts for every row of logits (R, E) f32. choice (R, 2k) f32 gets their weights,
  /// the largest first and of equal ones that of the lower number, then their numbers. A weight is
  /// the softmax over all E or, `normalised`, over the k chosen ones. Where logits are NaN so are
  /// weights.
  virtual void choose(const Matrix& logits, bool normalised, const Matrix& choice) = 0;
  /// Leaves out choices that are too many for an expert: of every `sample` rows it takes
  /// `capacity`, those of first choices before those of second ones, of equal ones those of earlier
  /// rows. E is added to the number of a choice that is left out; its weight stays.
  virtual void limit(std::size_t experts, std::size_t sample, std::size_t capacity,
                     const Matrix& choice) = 0;
  /// dlogits (R, E) f32 from the gradient of the weights, the first k columns of dchoice (R, 2k)
  /// f32.
  virtual void choose_backward(const Matrix& logits, const Matrix& choice, bool normalised,
                               const Matrix& dchoice, const Matrix& dlogits) = 0;

  /// For each of E experts how many rows have chosen it, left out or not, then the sum of its
  /// softmax over all experts: sums (2E) over the rows of logits (R, E) and choice (R, 2k) f32.
  virtual void sum(const Matrix& logits, const Matrix& choice, double* sums) = 0;
  /// dlogits (R, E) f32 of the sum over rows and experts of factor * weights (E) * softmax(logits).
  virtual void weighted_softmax_gradient(const Matrix& logits, const float* weights, double factor,
                                         const Matrix& dlogits) = 0;

  /// counts[i] = how many rows of choice (R, 2k) f32 go to expert first + i, i < experts.
  virtual void count(const Matrix& choice, std::int64_t first, std::size_t experts,
                     std::int32_t* counts) = 0;
  /// places (R, k) of the same experts, of whose dispatched rows the first of each is begins[i].
  virtual void place(const Matrix& choice, std::int64_t first, std::size_t experts,
                     const std::int32_t* begins, std::int32_t* places) = 0;

  /// out (D, C) = the rows of x (R, C), dispatched; of one type.
  virtual void dispatch(const ExpertPlaces& places, const Matrix& x, const Matrix& out) = 0;
  /// out (R, C) f32 = for every row the sum of its dispatched rows of x (D, C) f32, that of the
  /// first choice first.
  virtual void combine(const ExpertPlaces& places, const Matrix& x, const Matrix& out) = 0;

  /// weights (D) = those of choice (R, 2k) f32.
  virtual void take_weights(const ExpertPlaces& places, const Matrix& choice, float* weights) = 0;
  /// dchoice (R, C) f32, C > k, gets what the places have, and is 0 elsewhere.
  virtual void give_weights(const ExpertPlaces& places, const float* of_places,
                            const Matrix& dchoice) = 0;
  /// packed (D, 3) f32 = the weights and experts of choice (R, 2k) f32, dispatched, and `sender`.
  virtual void pack_choices(const ExpertPlaces& places, const Matrix& choice, float sender,
                            const Matrix& packed) = 0;

  /// out = x with each row times its weight; x and out (R, C) T may be the same.
  virtual void weigh(const Matrix& x, const float* weights, const Matrix& out) = 0;
  /// For every row the sum of the products of x and y (R, C) T.
  virtual void row_products(const Matrix& x, const Matrix& y, float* products) = 0;
  /// weights (R) = sigmoid of logits (R, 1) f32.
  virtual void sigmoid(const Matrix& logits, float* weights) = 0;
  /// dlogits (R, 1) f32 from the gradients of the weights.
  virtual void sigmoid_backward(const float* dweights, const float* weights,
                                const Matrix& dlogits) = 0;
};

/// Fails where the matrices of a call do not fit together; `x` is the one that the message names.
void check_experts_call(bool fit, const Matrix& x);

/// The host's.
ExpertKernels& host_experts();

}  // namespace pptrain
