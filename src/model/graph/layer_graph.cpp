#include "model/graph/layer_graph.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "model/folds/kept_values.hpp"
#include "model/folds/layer_folds.hpp"

namespace pptrain {

ValueIndex LayerGraph::make(const Value& value) {
  list().values.push_back(value);
  return list().values.size() - 1;
}

void LayerGraph::put(Operator::Kind kind, std::vector<ValueIndex> inputs,
                     std::optional<ValueIndex> output, std::vector<std::size_t> parameters) {
  list().operators.push_back({std::move(kind), std::move(inputs), output, std::move(parameters)});
}

ValueIndex LayerGraph::in_place(Operator::Kind kind, ValueIndex x) {
  put(std::move(kind), {x}, x);
  return x;
}

std::size_t LayerGraph::parameter(ParameterSpec spec) {
  for (std::size_t i = 0; i < layer_.parameters.size(); ++i) {
    if (layer_.parameters[i].name == spec.name) return i;
  }
  layer_.parameters.push_back(std::move(spec));
  return layer_.parameters.size() - 1;
}

void LayerGraph::begin_division(WeightDivision division) {
  division_ = division;
  list_ =
      division == WeightDivision::columns ? &layer_.operators : &layer_.other_divisions[division];
  entered_.clear();
}

void LayerGraph::enter(ValueIndex x) {
  // Nobody asks for the gradient of the samples.
  if (exchanges() || are_samples(list(), x) || !entered_.insert(x).second) return;
  in_place(op::Enter{}, x);
}

void LayerGraph::keep_apart(ValueIndex x) {
  if (entered_.erase(x) == 0) return;
  const ValueIndex entered = make(value(x));
  bool behind = false;
  for (Operator& op : list().operators) {
    if (behind) std::replace(op.inputs.begin(), op.inputs.end(), x, entered);
    if (!behind && op.as<op::Enter>() != nullptr && op.output == x) {
      behind = true;
      op.output = entered;
    }
  }
}

ValueIndex LayerGraph::take(ValueIndex x, const AxisDivision& columns) {
  if (columns.axis == ShardAxis::none) return x;
  Value own = value(x);
  own.divided = columns;
  const ValueIndex result = make(own);
  put(op::Take{}, {x}, result);
  return result;
}

ValueIndex LayerGraph::input(const Port& port) {
  layer_.input = port;
  list().input = make({port.rows, port.columns, Element::fp32, {}});
  return *list().input;
}

std::vector<ValueIndex> LayerGraph::inputs(const std::vector<Port>& ports) {
  const Boundary boundary(ports);
  const ValueIndex all = input(boundary.packed());
  layer_.input = boundary;
  if (ports.size() == 1) return {all};
  std::vector<ValueIndex> values;
  std::int64_t first = 0;
  for (const Port& port : ports) {
    values.push_back(make({port.rows, port.columns, Element::fp32, {}}));
    put(op::Split{first}, {all}, values.back());
    first += port.elements();
  }
  return values;
}

void LayerGraph::outputs(const std::vector<Output>& results) {
  output_ports_.clear();
  std::vector<ValueIndex> values;
  for (const auto& [port, v] : results) {
    const Value result = value(v);
    PPTRAIN_ASSERT(result.is_whole() && result.element == Element::fp32,
                   "{}: what crosses a cut is whole and fp32", layer_.name);
    keep_apart(v);
    output_ports_.push_back({result.rows, result.columns, port});
    values.push_back(v);
  }
  if (values.size() == 1) return output(values.front());
  const ValueIndex all = make({1, Boundary(output_ports_).elements(), Element::fp32, {}});
  put(op::Join{}, values, all);
  output(all);
}

ValueIndex LayerGraph::features(std::int64_t count, std::int64_t rows) {
  const ValueIndex x = make({rows, count, Element::fp32, {}});
  put(op::Features{}, {}, x);
  return x;
}

ValueIndex LayerGraph::embedding(const std::string& name, const EmbeddingShape& shape) {
  std::vector<std::size_t> parameters = {parameter({.name = prefix_ + name + ".weight",
                                                    .shape = {shape.vocabulary, shape.columns},
                                                    .axis = ShardAxis::vocabulary,
                                                    .deviation = deviation_})};
  const bool positions = !shape.positions.empty();
  if (positions) {
    parameters.push_back(parameter({.name = prefix_ + shape.positions + ".weight",
                                    .shape = {shape.num_positions, shape.columns},
                                    .deviation = deviation_}));
  }
  const ValueIndex x = make({shape.rows, shape.columns, Element::fp32, {}});
  put(op::Embedding{positions, shape.first_position, false, shape.decoder}, {}, x, parameters);
  return in_place(op::Sum{}, x);
}

ValueIndex LayerGraph::token_types(const std::string& name, std::int64_t count, std::int64_t rows,
                                   std::int64_t columns) {
  const std::size_t table = parameter(
      {.name = prefix_ + name + ".weight", .shape = {count, columns}, .deviation = deviation_});
  const ValueIndex x = make({rows, columns, Element::fp32, {}});
  put(op::Embedding{.token_types = true}, {}, x, {table});
  return x;
}

ValueIndex LayerGraph::class_token(const std::string& token, const std::string& places,
                                   ValueIndex x) {
  const Value from = value(x);
  const std::int64_t rows = from.rows + 1;
  const std::vector<std::size_t> parameters = {parameter({.name = prefix_ + token,
                                                          .shape = {1, from.columns},
                                                          .deviation = deviation_,
                                                          .file_shape = {1, 1, from.columns}}),
                                               parameter({.name = prefix_ + places,
                                                          .shape = {rows, from.columns},
                                                          .deviation = deviation_,
                                                          .file_shape = {1, rows, from.columns}})};
  const ValueIndex result = make({rows, from.columns, Element::fp32, {}});
  put(op::ClassToken{}, {x}, result, parameters);
  return result;
}

ValueIndex LayerGraph::first_row(ValueIndex x) {
  const ValueIndex result = make({1, value(x).columns, value(x).element, {}});
  put(op::Split{0}, {x}, result);
  return result;
}

ValueIndex LayerGraph::scale(ValueIndex x, double factor) {
  return in_place(op::Scaling{factor}, x);
}

std::vector<std::size_t> LayerGraph::norm_parameters(const std::string& name, const NormForm& form,
                                                     std::int64_t width) {
  std::vector<std::size_t> parameters = {
      parameter({.name = prefix_ + name + ".weight",
                 .shape = {width},
                 .initial = form.one_plus ? Initial::zeros : Initial::ones})};
  if (form.kind == NormKind::layer) {
    parameters.push_back(
        parameter({.name = prefix_ + name + ".bias", .shape = {width}, .initial = Initial::zeros}));
  }
  return parameters;
}

ValueIndex LayerGraph::norm(const std::string& name, ValueIndex x, const NormForm& form,
                            Element element) {
  const Value from = value(x);
  const ValueIndex result = make({from.rows, from.columns, element, {}});
  put(op::Norm{form, from.columns}, {x}, result, norm_parameters(name, form, from.columns));
  return result;
}

ValueIndex LayerGraph::head_norm(const std::string& name, ValueIndex x, const NormForm& form,
                                 std::int64_t head_size) {
  const ValueIndex result = make(value(x));
  put(op::Norm{form, head_size}, {x}, result, norm_parameters(name, form, head_size));
  return result;
}

std::vector<std::size_t> LayerGraph::linear_parameters(const std::string& name, std::int64_t in,
                                                       const LinearShape& shape) {
  ParameterSpec weight;
  weight.name = shape.tied_to.empty() ? prefix_ + name + ".weight" : shape.tied_to;
  weight.shape = {shape.out, in};
  weight.deviation = shape.deviation > 0.0 ? shape.deviation : deviation_;
  weight.layout = shape.layout;
  weight.row_axis = shape.row_axis;
  weight.file_shape = shape.file_shape;
  weight.file_part = shape.file_part;
  const std::string file_tensor = shape.file_part.tensor;
  if (!file_tensor.empty()) weight.file_part.tensor = prefix_ + file_tensor + ".weight";
  const bool by_rows = shape.rows.axis != ShardAxis::none;
  const AxisDivision& divided = by_rows ? shape.rows : shape.columns;
  weight.axis = divided.axis;
  weight.dimension = by_rows ? 1 : 0;
  weight.groups = divided.groups;
  weight.unit = divided.unit;
  weight.sharing = divided.sharing;
  std::vector<std::size_t> parameters = {parameter(weight)};
  if (!shape.bias) return parameters;
  ParameterSpec bias = weight;
  bias.name = prefix_ + name + ".bias";
  bias.shape = {shape.out};
  bias.initial = Initial::zeros;
  bias.file_shape = {};
  if (!file_tensor.empty()) bias.file_part.tensor = prefix_ + file_tensor + ".bias";
  if (by_rows)
    bias.axis = ShardAxis::none, bias.groups = bias.unit = bias.sharing = 1, bias.dimension = 0;
  if (bias.layout == FileLayout::transposed) bias.layout = FileLayout::same;
  parameters.push_back(parameter(bias));
  return parameters;
}

ValueIndex LayerGraph::linear(const std::string& name, ValueIndex x, const LinearShape& divided) {
  LinearShape shape = divided;
  if (exchanges()) {
    // Every member has it whole; what would be a sum is of the stream's type all the same.
    shape.wide = shape.wide || shape.rows.axis != ShardAxis::none;
    shape.columns = shape.rows = {};
  }
  const bool by_rows = shape.rows.axis != ShardAxis::none;
  const bool by_columns = shape.columns.axis != ShardAxis::none;
  if (by_columns) enter(x);
  const std::vector<std::size_t> parameters = linear_parameters(name, value(x).columns, shape);
  if (by_rows && value(x).is_whole()) x = take(x, shape.rows);
  Value result = {value(x).rows,
                  shape.out,
                  by_rows || shape.wide || shape.full ? Element::fp32 : Element::compute,
                  {}};
  if (by_columns) result.divided = shape.columns;
  const ValueIndex y = make(result);
  const WeightDivision division = by_rows      ? WeightDivision::rows
                                  : by_columns ? WeightDivision::columns
                                               : WeightDivision::none;
  put(op::Linear{division, shape.bias, shape.padded, shape.full}, {x}, y, parameters);
  return by_rows ? in_place(op::Sum{}, y) : y;
}

ValueIndex LayerGraph::rotary(ValueIndex x, const RotaryForm& form, std::int64_t head_size,
                              bool packed) {
  return in_place(op::Rotary{form, head_size, packed}, x);
}

ValueIndex LayerGraph::attention(const std::vector<ValueIndex>& inputs,
                                 const op::SelfAttention& shape, const std::string& bias) {
  const Value first = value(inputs.front());
  const ValueIndex out = make({first.rows,
                               shape.heads * shape.head_size,
                               Element::compute,
                               {first.divided.axis, 1, first.divided.unit, 1}});
  std::vector<std::size_t> parameters;
  if (shape.buckets.count > 0) {
    parameters.push_back(parameter({.name = bias,
                                    .shape = {shape.heads, shape.buckets.count},
                                    .axis = ShardAxis::heads,
                                    .deviation = deviation_,
                                    .layout = FileLayout::transposed}));
  }
  put(shape, inputs, out, parameters);
  return out;
}

ValueIndex LayerGraph::activate(ValueIndex x, Activation activation) {
  const ValueIndex result = make(value(x));
  put(op::Activate{activation}, {x}, result);
  return result;
}

ValueIndex LayerGraph::gate(ValueIndex gate, ValueIndex up, Activation activation) {
  const ValueIndex result = make(value(gate));
  put(op::Gate{activation}, {gate, up}, result);
  return result;
}

/// The bias of the product that `sum` is the result of, which is then no longer the product's. A
/// product that is scaled keeps its own, which is scaled with it.
std::optional<std::size_t> LayerGraph::take_bias(ValueIndex sum) {
  const auto scales = [&](const Operator& op) {
    return op.as<op::Scaling>() != nullptr && op.output == sum;
  };
  if (std::any_of(list().operators.begin(), list().operators.end(), scales)) return {};
  for (Operator& candidate : list().operators) {
    auto* linear = std::get_if<op::Linear>(&candidate.kind);
    if (linear == nullptr || candidate.output != sum || !linear->bias ||
        linear->division != WeightDivision::rows)
      continue;
    linear->bias = false;
    const std::size_t bias = candidate.parameters.back();
    candidate.parameters.pop_back();
    return bias;
  }
  return {};
}

ValueIndex LayerGraph::add(ValueIndex x, ValueIndex y) {
  keep_apart(x);
  const std::optional<std::size_t> bias = take_bias(y);
  const ValueIndex sum = make(value(x));
  put(op::Addition{bias.has_value()}, {x, y}, sum,
      bias ? std::vector<std::size_t>{*bias} : std::vector<std::size_t>{});
  return sum;
}

ValueIndex LayerGraph::convert(ValueIndex x, Element element) {
  Value result = value(x);
  result.element = element;
  const ValueIndex y = make(result);
  put(op::Conversion{}, {x}, y);
  return y;
}

ValueIndex LayerGraph::gather(ValueIndex x) {
  if (value(x).is_whole()) return x;
  Value result = value(x);
  result.divided = {};
  const ValueIndex y = make(result);
  put(op::Gather{}, {x}, y);
  return y;
}

void LayerGraph::loss(ValueIndex logits, double cap) { put(op::Loss{cap}, {logits}, {}); }

void LayerGraph::language_output(ValueIndex stream, const OutputShape& shape) {
  const bool scales = shape.scale != 1.0;
  ValueIndex x = norm(shape.norm, stream, shape.form, scales ? Element::fp32 : Element::compute);
  if (scales) x = scale(x, shape.scale);
  loss(linear(shape.head, x,
              {.out = shape.vocabulary,
               .columns = {ShardAxis::vocabulary},
               .padded = true,
               .deviation = shape.deviation,
               .tied_to = shape.tied_to}),
       shape.logit_cap);
}

Layer LayerGraph::finish(double compute_bytes) {
  if (layer_.operators.output) {
    const Value& result = layer_.operators.values[*layer_.operators.output];
    PPTRAIN_ASSERT(result.is_whole() && result.element == Element::fp32,
                   "{}: what crosses a cut is whole and fp32", layer_.name);
    layer_.output = output_ports_.empty() ? Boundary(Port{result.rows, result.columns})
                                          : Boundary(output_ports_);
  }
  fold(layer_, compute_bytes);
  return std::move(layer_);
}

}  // namespace pptrain
