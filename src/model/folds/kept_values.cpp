#include "model/folds/kept_values.hpp"

#include <algorithm>

#include "base/one_of.hpp"

namespace pptrain {
namespace {

/// Rows of a norm's statistics: one for every `width` columns.
std::int64_t norm_rows(const op::Norm& norm, const Value& x) {
  return x.rows * (x.columns / norm.width);
}

/// Whether a value is the factor of a product, which needs it for the gradient of its weight.
bool is_multiplied(const OperatorList& list, ValueIndex v) {
  return std::any_of(list.operators.begin(), list.operators.end(), [&](const Operator& op) {
    return op.as<op::Linear>() != nullptr && holder_of(list, op.inputs.front()) == v;
  });
}

/// Whether a value is multiplied to the logits of the loss: their backward pass comes right behind
/// the forward one, so that keeping it costs less than making it again.
bool becomes_logits(const OperatorList& list, ValueIndex v) {
  for (const Operator& loss : list.operators) {
    if (loss.as<op::Loss>() == nullptr) continue;
    for (const Operator& product : list.operators) {
      const bool is_product =
          product.as<op::Linear>() != nullptr && product.output == loss.inputs.front();
      if (is_product && product.inputs.front() == v) return true;
    }
  }
  return false;
}

/// Whether a value's rows are dispatched: B makes these again from it, sooner than a norm would
/// make the value again.
bool is_dispatched(const OperatorList& list, ValueIndex v) {
  return std::any_of(list.operators.begin(), list.operators.end(), [&](const Operator& op) {
    return op.as<op::Dispatch>() != nullptr && holder_of(list, op.inputs.front()) == v;
  });
}

/// Whether a norm's B makes its result again, for the products that read it.
bool is_made_again(const OperatorList& list, ValueIndex v) {
  return is_multiplied(list, v) && !becomes_logits(list, v) && !is_dispatched(list, v);
}

}  // namespace

Needs needs_of(const Operator& op, const OperatorList& list, Recompute recompute) {
  const auto input = [&]() -> const Value& { return list.values[op.inputs.front()]; };
  return std::visit(
      overloaded{
          [&](const op::Norm& norm) {
            const std::int64_t each = norm.form.kind == NormKind::layer ? 2 : 1;
            return Needs{{op.inputs.front()},
                         {},
                         is_made_again(list, *op.output),
                         each * norm_rows(norm, input())};
          },
          [&](const op::Linear&) {
            return Needs{{}, {op.inputs.front()}};
          },
          [&](const op::SelfAttention& attention) {
            Needs needs = {op.inputs, {}, recompute == Recompute::selective};
            if (!needs.made_again) {
              needs.backward_input.push_back(*op.output);
              needs.statistics = input().rows * attention.heads;
            }
            return needs;
          },
          [&](const op::Activate&) {
            return Needs{op.inputs, {}, true};
          },
          [&](const op::Gate&) {
            return Needs{op.inputs, {}, true};
          },
          // Row maxima, sums and target logits, which every member has.
          [&](const op::Loss&) {
            return Needs{op.inputs, {}, false, 3 * input().rows};
          },
          [&](const op::Router&) {
            return Needs{{op.inputs.front(), *op.output}, {}};
          },
          // Rows are fewer numbers than their copies for each of their experts.
          [&](const op::Dispatch&) {
            return Needs{op.inputs, {}, true};
          },
          [&](const op::ExpertLinear&) {
            return Needs{{op.inputs[1]}, op.inputs};
          },
          [&](const op::WeightedGate&) {
            return Needs{op.inputs, {}, true};
          },
          [&](const op::ExpertBalance&) {
            return Needs{op.inputs, {}};
          },
          [&](const op::Combine&) {
            return Needs{{op.inputs[1]}, {}};
          },
          [&](const op::Convolution&) {
            return Needs{{}, {op.inputs.front()}};
          },
          // Mean and variance of each channel are of the micro-batch, not of a sample.
          [&](const op::BatchNorm&) {
            return Needs{op.inputs, {}};
          },
          [&](const op::SquareLoss&) {
            return Needs{op.inputs, {}};
          },
          [&](const op::SendChoices&) {
            return Needs{{op.inputs.front(), *op.output}, {}};
          },
          [&](const op::SendRows&) {
            return Needs{{op.inputs[1], op.inputs[2]}, {}};
          },
          [&](const op::ReturnRows&) {
            return Needs{{op.inputs[1], op.inputs[2]}, {}};
          },
          // Pooling by the largest keeps a number for each window: which of its pixels that was.
          [&](const op::Pool& pool) {
            const Value& result = list.values[*op.output];
            return Needs{
                {}, {}, false, pool.kind == PoolKind::max ? result.rows * result.columns : 0};
          },
          [](const one_of<op::Embedding, op::Scaling, op::Rotary, op::Addition, op::Enter, op::Sum,
                          op::Features, op::Conversion, op::Gather, op::Take, op::Split, op::Join,
                          op::ClassToken, op::Dropout, op::Flatten, op::Reshape, op::Places,
                          op::Enlarge, op::Tiles> auto&) { return Needs{}; }},
      op.kind);
}

ValueIndex holder_of(const OperatorList& list, ValueIndex v) {
  for (const Operator& op : list.operators) {
    const bool renames =
        op.as<op::Take>() != nullptr || (op.as<op::Enter>() != nullptr && !op.in_place());
    if (op.output == v && renames) return holder_of(list, op.inputs.front());
  }
  return v;
}

bool are_samples(const OperatorList& list, ValueIndex v) {
  const ValueIndex holder = holder_of(list, v);
  return std::any_of(list.operators.begin(), list.operators.end(), [&](const Operator& op) {
    return op.as<op::Features>() != nullptr && op.output == holder;
  });
}

std::vector<bool> kept_values(const OperatorList& list, Recompute recompute) {
  std::vector<bool> made_again(list.values.size(), false);
  std::vector<bool> kept(list.values.size(), false);
  for (const Operator& op : list.operators) {
    if (needs_of(op, list, recompute).made_again) made_again[*op.output] = true;
    // The samples stay where they are.
    if (op.as<op::Features>() != nullptr) made_again[*op.output] = true;
  }
  for (const Operator& op : list.operators) {
    const Needs needs = needs_of(op, list, recompute);
    for (const ValueIndex v : needs.backward_input) kept[holder_of(list, v)] = true;
    for (const ValueIndex v : needs.backward_weight) {
      const ValueIndex holder = holder_of(list, v);
      kept[holder] = kept[holder] || !made_again[holder];
    }
  }
  return kept;
}

bool has_narrow_gradient(const OperatorList& list, ValueIndex v) {
  bool is_normalised = false;
  int products = 0, others = 0;
  for (const Operator& op : list.operators) {
    is_normalised = is_normalised || (op.output == v && op.as<op::Norm>() != nullptr);
    const auto reads = static_cast<int>(std::count(op.inputs.begin(), op.inputs.end(), v));
    if (op.as<op::Enter>() != nullptr && op.in_place()) continue;
    const auto* linear = op.as<op::Linear>();
    // The product of a padded result has an odd number of terms, which devices sum in parts.
    const bool is_narrow = linear != nullptr && !linear->full && !linear->padded;
    (is_narrow ? products : others) += reads;
  }
  return is_normalised && products == 1 && others == 0 && list.output != v;
}

double member_part(const Value& value, int degree) {
  if (value.is_whole()) return 1.0;
  const AxisDivision& divided = value.divided;
  const double part = 1.0 / degree;
  if (divided.sharing == 1) return part;
  return std::max(part, static_cast<double>(divided.groups * divided.unit) /
                            static_cast<double>(value.columns));
}

double statistics_bytes(const Operator& op, const OperatorList& list, Recompute recompute,
                        int degree) {
  const bool of_heads = op.as<op::SelfAttention>() != nullptr;
  const double part = of_heads ? member_part(list.values[op.inputs.front()], degree) : 1.0;
  return 4.0 * part * static_cast<double>(needs_of(op, list, recompute).statistics);
}

double kept_bytes(const OperatorList& list, Recompute recompute, double compute_bytes, int degree) {
  const std::vector<bool> kept = kept_values(list, recompute);
  double bytes = 0.0;
  for (std::size_t v = 0; v < kept.size(); ++v) {
    const Value& value = list.values[v];
    const double each =
        (value.element == Element::fp32 ? 4.0 : compute_bytes) * member_part(value, degree);
    if (kept[v]) bytes += each * static_cast<double>(value.rows * value.columns);
  }
  for (const Operator& op : list.operators) bytes += statistics_bytes(op, list, recompute, degree);
  return bytes;
}

}  // namespace pptrain
