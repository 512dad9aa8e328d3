#pragma once

#include <cstdint>

#include "model/axes.hpp"
#include "model/forms.hpp"

namespace pptrain {

/// How rows go to experts: each to `chosen` of them. Where experts are `divided` a member has some
/// of them whole, and of what is dispatched the rows that go to these; otherwise it has columns of
/// every expert.
struct ExpertForm {
  std::int64_t experts = 0;
  std::int64_t chosen = 0;
  bool divided = false;

  bool operator==(const ExpertForm&) const = default;
};

/// The operators of feed-forward parts of which each row goes to some.
namespace op {

/// Chooses for every row of logits (rows, experts) the `chosen` experts with the largest softmax,
/// of equal ones those of lower numbers. The result (rows, 2 * chosen) is whole and fp32: the
/// weights of these experts, the largest first, then their numbers. A weight is the softmax over
/// all experts or, `normalised`, over the chosen ones, so that they sum to 1 (Shazeer et al.,
/// "Outrageously large neural networks", 2017; Jiang et al., "Mixtral of experts", 2024).
///
/// A row's choice depends on that row alone. Where there is a `capacity` an expert takes no more
/// than so many rows of a sample: those of first choices before those of second ones, of equal ones
/// those of earlier rows (Lepikhin et al., "GShard", 2020, Algorithm 1, with a sample as the
/// group). The others go on without this expert, and its number in the result is `experts` larger.
struct Router {
  ExpertForm form;
  bool normalised = false;
  std::int64_t capacity = 0;  ///< 0: all that choose it
};

/// Conversion: a router's result for rows of this member's samples becomes one for those that come
/// to it, since it has their experts: for each its weight, its expert's number and the member that
/// it is from. Members are in their order, the rows of each in theirs. Where no row comes there is
/// one that goes to no expert. `form`: of the router.
struct SendChoices {
  ExpertForm form;
};

/// Conversion: rows go to the members with their experts, once for each. Inputs: the rows, the
/// router's result for them and the one that has come of it. Backward the gradients of what was
/// sent come back and are added up.
struct SendRows {
  ExpertForm form;
};

/// Conversion: what members have made of rows goes back, and of each row is added up. Inputs as of
/// `SendRows`.
struct ReturnRows {
  ExpertForm form;
};

/// Adds to the loss how far from balanced the experts of a micro-batch are: experts * the sum over
/// them of the share of rows that chose one, full or not, and its mean softmax over all, which is
/// `chosen` where all are alike (Fedus et al., "Switch transformers", 2022, Eq. 4-6; the shares are
/// no function of the weights). Rows are those of all replicas of the micro-batch. Inputs: logits,
/// the router's result. Nothing is computed unless a job asks for it
/// (`Batch::balance`).
struct ExpertBalance {
  ExpertForm form;
  double share = 1.0;  ///< of this layer in their mean
};

/// The rows of the first input, each once for every expert that it goes to by a router's result,
/// the second input: expert by expert, for each in the order of the rows; `chosen` times as many
/// rows.
struct Dispatch {
  ExpertForm form;
};

/// x W_e^T for rows that are dispatched, where e is the expert that a row goes to. Inputs: the
/// rows, the router's result. Parameters: the weights (out, in) of every expert, divided by experts
/// or as those of `Linear` are.
struct ExpertLinear {
  ExpertForm form;
  bool by_rows = false;  ///< where experts are not divided

  /// Division of the weights over a tensor-parallel group: by experts, or of every expert by rows
  /// or columns.
  WeightDivision division() const {
    if (form.divided) return WeightDivision::experts;
    return by_rows ? WeightDivision::rows : WeightDivision::columns;
  }
};

/// f(first input) * second input * a weight of the row; without the second input f(first input) *
/// that weight. The last input is whole: a router's result, whose weights those of dispatched rows
/// are; or, with `chosen` = 0, logits (rows, 1) whose sigmoid the weights are.
struct WeightedGate {
  ExpertForm form;
  Activation activation = Activation::silu;
};

/// For every row the sum of what its experts made of it. Inputs: dispatched rows, the router's
/// result.
struct Combine {
  ExpertForm form;
};

}  // namespace op
}  // namespace pptrain
