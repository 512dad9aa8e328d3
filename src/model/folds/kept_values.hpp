#pragma once

#include <vector>

#include "model/model.hpp"

namespace pptrain {

/// What the backward passes need of the forward pass of an operator.
struct Needs {
  std::vector<ValueIndex> backward_input;   ///< values that B reads
  std::vector<ValueIndex> backward_weight;  ///< values that W reads
  bool made_again = false;                  ///< B writes the operator's result once more
  std::int64_t statistics = 0;  ///< fp32 numbers per sample beside, by all members together
};

/// `recompute`: with `selective` attention's result is made again.
Needs needs_of(const Operator& op, const OperatorList& list, Recompute recompute);

/// The value whose memory holds `v`: columns that a member takes of a whole value lie in that one,
/// and so does what enters divided operators.
ValueIndex holder_of(const OperatorList& list, ValueIndex v);

/// Whether a value are numbers of the samples, or columns of them.
bool are_samples(const OperatorList& list, ValueIndex v);

/// The values that a layer keeps from F to B, by their index: all that B reads, and what W reads
/// but B cannot make again. `Recompute::full` is not asked for: such a layer keeps its input alone.
std::vector<bool> kept_values(const OperatorList& list, Recompute recompute);

/// Whether the gradient of a value has the type of products where one member has all of a layer:
/// the value is the result of a norm, and one product alone, not of padded results, gives the
/// gradient. Elsewhere several products, or members, add to it.
bool has_narrow_gradient(const OperatorList& list, ValueIndex v);

/// The part of a value that one of `degree` members has where they divide evenly; key heads that
/// several members' query heads share are there for each of these.
double member_part(const Value& value, int degree);

/// Bytes per sample of an operator's statistics on one member. The statistics of heads are divided
/// as the heads are.
double statistics_bytes(const Operator& op, const OperatorList& list, Recompute recompute,
                        int degree);

/// Bytes per sample that one of `degree` members of a group keeps of a layer, numbers of products
/// taking `compute_bytes`; with degree 1 all that is kept.
double kept_bytes(const OperatorList& list, Recompute recompute, double compute_bytes,
                  int degree = 1);

}  // namespace pptrain
