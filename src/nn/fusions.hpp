#pragma once

#include <vector>

#include "model/model.hpp"

namespace pptrain {

/// An operator together with those that one kernel computes with it.
struct FusedOperator {
  Operator op;
  bool forward_elsewhere = false;   ///< another operator's kernel computes the result
  bool backward_elsewhere = false;  ///< another operator's kernel computes the gradients of the
                                    ///< inputs

  /// What a norm computes beside itself: the sum that it normalises.
  struct Sum {
    ValueIndex x = 0;
    ValueIndex y = 0;
    std::optional<std::size_t> bias;
  };
  std::optional<Sum> sum;
  /// A product may compute GELU of its result too, into `activated`, or have GELU of
  /// `before_activation` as its input.
  std::optional<ValueIndex> activated;
  std::optional<ValueIndex> before_activation;

  /// Values that the forward pass reads, and B.
  std::vector<ValueIndex> forward_reads() const;
};

/// The operators one by one.
std::vector<FusedOperator> unfused(const OperatorList& list);

/// Rewrites, each with the operators one by one as its twin: add and norm in one pass over the
/// rows; product, bias and GELU; GELU's gradient behind the product that it goes into.
std::vector<FusedOperator> fused(const OperatorList& list);

}  // namespace pptrain
