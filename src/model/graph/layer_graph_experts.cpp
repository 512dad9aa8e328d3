// The operators of feed-forward parts with experts.
#include "model/graph/layer_graph.hpp"

namespace pptrain {

ExpertForm LayerGraph::as_divided(ExpertForm form) const {
  form.divided = form.experts > 0 && (division_ == WeightDivision::experts || exchanges());
  return form;
}

ValueIndex LayerGraph::router(const std::string& name, ValueIndex x, const op::Router& router,
                              double share) {
  const ExpertForm& form = router.form;
  const ValueIndex logits = linear(name, x, {.out = form.experts, .full = true});
  const ValueIndex choice = make({value(x).rows, 2 * form.chosen, Element::fp32, {}});
  put(router, {logits}, choice);
  put(op::ExpertBalance{form, share}, {logits, choice}, {});
  return choice;
}

ValueIndex LayerGraph::dispatch(ValueIndex x, ValueIndex choice, const ExpertForm& form) {
  enter(x);
  const Value from = value(x);
  const ValueIndex rows = make({from.rows * form.chosen, from.columns, from.element, {}});
  put(op::Dispatch{as_divided(form)}, {x, choice}, rows);
  return rows;
}

ValueIndex LayerGraph::expert_linear(const std::vector<std::string>& names, ValueIndex x,
                                     ValueIndex choice, const ExpertForm& form,
                                     const LinearShape& shape) {
  const ExpertForm experts = as_divided(form);
  const bool by_rows = shape.rows.axis != ShardAxis::none;
  const Value from = value(x);
  std::vector<std::size_t> weights;
  for (std::size_t e = 0; e < names.size(); ++e) {
    weights.push_back(linear_parameters(names[e], from.columns, shape).front());
    layer_.parameters[weights.back()].expert = static_cast<std::int64_t>(e);
  }
  Value result = {from.rows, shape.out, by_rows ? Element::fp32 : Element::compute, shape.columns};
  if (experts.divided && !by_rows) result.divided = {ShardAxis::experts};
  const ValueIndex y = make(result);
  put(op::ExpertLinear{experts, by_rows}, {x, choice}, y, weights);
  return y;
}

ValueIndex LayerGraph::weighted_gate(ValueIndex gate, std::optional<ValueIndex> up,
                                     ValueIndex weights, Activation activation,
                                     const ExpertForm& form) {
  enter(weights);
  const ValueIndex result = make(value(gate));
  std::vector<ValueIndex> inputs = {gate};
  if (up) inputs.push_back(*up);
  inputs.push_back(weights);
  put(op::WeightedGate{as_divided(form), activation}, inputs, result);
  return result;
}

ValueIndex LayerGraph::combine(ValueIndex x, ValueIndex choice, const ExpertForm& form) {
  const Value from = value(x);
  const ValueIndex sum = make({from.rows / form.chosen, from.columns, Element::fp32, {}});
  put(op::Combine{as_divided(form)}, {x, choice}, sum);
  return exchanges() ? sum : in_place(op::Sum{}, sum);
}

ValueIndex LayerGraph::send_choices(ValueIndex choice, const ExpertForm& form) {
  constexpr std::int64_t columns = 3;  // weight, expert, member
  const ValueIndex received = make({value(choice).rows * form.chosen, columns, Element::fp32, {}});
  put(op::SendChoices{form}, {choice}, received);
  return received;
}

ValueIndex LayerGraph::send_rows(ValueIndex x, ValueIndex choice, ValueIndex received,
                                 const ExpertForm& form) {
  Value rows = value(x);
  rows.rows *= form.chosen;
  const ValueIndex y = make(rows);
  put(op::SendRows{form}, {x, choice, received}, y);
  return y;
}

ValueIndex LayerGraph::return_rows(ValueIndex x, ValueIndex choice, ValueIndex received,
                                   const ExpertForm& form) {
  Value rows = value(x);
  rows.rows /= form.chosen;
  const ValueIndex y = make(rows);
  put(op::ReturnRows{form}, {x, choice, received}, y);
  return y;
}

}  // namespace pptrain
