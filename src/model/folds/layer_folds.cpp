#include "model/folds/layer_folds.hpp"

#include "model/folds/kept_values.hpp"
#include "model/folds/work_builder.hpp"

namespace pptrain {
namespace {

/// Bytes that a group's all-reduces carry, the mean of F and B; gathering is half of an all-reduce.
double allreduce_bytes(const OperatorList& list) {
  double sum = 0.0;
  for (const Operator& op : list.operators) {
    const double weight = op.as<op::Enter>() != nullptr || op.as<op::Sum>() != nullptr     ? 1.0
                          : op.as<op::Gather>() != nullptr || op.as<op::Take>() != nullptr ? 0.5
                                                                                           : 0.0;
    if (weight == 0.0) continue;
    const Value& value = list.values[op.inputs.front()];
    sum += weight * 4.0 * static_cast<double>(value.rows * value.columns);
  }
  return sum / 2.0;
}

/// Bytes of rows that are sent to experts and come back, the mean of F and B: what goes one way
/// forward goes the other way backward, as gradients in fp32.
double exchanged_bytes(const OperatorList& list, double compute_bytes) {
  double sum = 0.0;
  for (const Operator& op : list.operators) {
    const bool returns = op.as<op::ReturnRows>() != nullptr;
    if (!returns && op.as<op::SendRows>() == nullptr && op.as<op::SendChoices>() == nullptr)
      continue;
    const Value& value = list.values[returns ? op.inputs.front() : *op.output];
    const double forward = value.element == Element::fp32 ? 4.0 : compute_bytes;
    sum += (forward + 4.0) / 2.0 * static_cast<double>(value.rows * value.columns);
  }
  return sum;
}

/// Adds the work of one operator.
class Worker {
 public:
  Worker(WorkBuilder& builder, const Layer& layer, const Operator& op)
      : builder_(builder), layer_(layer), op_(op) {}

  void operator()(const op::Embedding&) const {
    builder_.embedding(rows(*op_.output), columns(*op_.output));
  }
  void operator()(const op::Scaling&) const { elementwise(input(), 2.0, 2.0); }
  void operator()(const op::Norm&) const { elementwise(input(), 2.0, 3.0); }
  void operator()(const op::Linear& linear) const {
    const ParameterSpec& weight = layer_.parameters[op_.parameters.front()];
    builder_.product(pptrain::linear(rows(input()), static_cast<double>(weight.shape[1]),
                                     static_cast<double>(weight.shape[0]), linear.division));
    if (are_samples(list(), input())) builder_.without_input_gradient();
  }
  void operator()(const op::Rotary&) const { elementwise(input(), 2.0, 2.0); }
  void operator()(const op::SelfAttention& a) const {
    if (a.span == 0) return builder_.attention(a, rows(input()), rows(op_.inputs.back()));
    const auto span = static_cast<double>(a.span);
    builder_.attention(a, span, span, rows(input()) / span);
  }
  void operator()(const op::Activate&) const { elementwise(input(), 4.0, 6.0, 2); }
  void operator()(const op::Gate&) const { elementwise(input(), 3.0, 6.0); }
  // This counts what frameworks do around it; it is fitted with the efficiencies of
  // src/profile/analytic.cpp.
  void operator()(const op::Addition&) const {
    elementwise(input(), 5.0, 7.0, 3);
    builder_.backward_weight(
        {0.0, builder_.element_bytes() * 2.0 * elements(input()), 0.0, 0.0, 1, Share::whole});
  }
  void operator()(const op::Loss&) const { builder_.loss(rows(input()), columns(input())); }
  void operator()(const op::ClassToken&) const { elementwise(input(), 3.0, 3.0, 2); }
  void operator()(const op::Features&) const {}
  void operator()(const op::Conversion&) const {}
  void operator()(const op::Enter&) const {}
  void operator()(const op::Sum&) const {}
  void operator()(const op::Gather&) const {}
  void operator()(const op::Take&) const {}
  void operator()(const op::Dropout&) const { elementwise(input(), 2.0, 2.0); }
  void operator()(const op::Router&) const { elementwise(input(), 2.0, 3.0); }
  // The balance is the work of few numbers per row, and most jobs do without.
  void operator()(const op::ExpertBalance&) const {}
  void operator()(const op::Dispatch&) const { elementwise(*op_.output, 2.0, 4.0, 2); }
  // With many rows every expert has some, so that the weights of all are read.
  void operator()(const op::ExpertLinear& experts) const {
    const ParameterSpec& weight = layer_.parameters[op_.parameters.front()];
    Product product = pptrain::linear(rows(input()), static_cast<double>(weight.shape[1]),
                                      static_cast<double>(weight.shape[0]), experts.division());
    product.weights *= static_cast<double>(experts.form.experts);
    product.launches = static_cast<int>(experts.form.experts);
    builder_.product(product);
  }
  void operator()(const op::WeightedGate&) const {
    const bool gated = op_.inputs.size() == 3;
    elementwise(input(), gated ? 5.0 : 4.0, gated ? 12.0 : 9.0, 3);
  }
  // Work is that of the layer divided otherwise; its bytes between members are counted apart.
  void operator()(const op::SendChoices&) const {}
  void operator()(const op::SendRows&) const {}
  void operator()(const op::ReturnRows&) const {}
  void operator()(const op::Combine&) const { elementwise(input(), 1.5, 1.5); }
  void operator()(const op::Split&) const { elementwise(*op_.output, 2.0, 2.0); }
  void operator()(const op::Join&) const { elementwise(*op_.output, 2.0, 2.0); }
  void operator()(const op::Convolution& c) const {
    const double weights = static_cast<double>(layer_.parameters[op_.parameters.front()].size());
    const double pixels = static_cast<double>(c.window.out_pixels());
    const double channels = columns(*op_.output) * rows(*op_.output) / pixels;
    builder_.product({2.0 * pixels * weights, elements(input()), elements(*op_.output), weights,
                      c.division, 1, pixels, weights / channels, channels});
    if (are_samples(list(), input())) builder_.without_input_gradient();
  }
  // Statistics, then the normalisation; backward two sums, then the gradient.
  void operator()(const op::BatchNorm&) const { elementwise(input(), 3.0, 5.0, 2); }
  void operator()(const op::Pool&) const {
    const double both = elements(input()) + elements(*op_.output);
    builder_.elementwise({both, both, 1, 1, Share::whole});
  }
  void operator()(const op::Flatten&) const { elementwise(input(), 2.0, 2.0); }
  void operator()(const op::Reshape&) const { elementwise(input(), 2.0, 2.0); }
  // The gradient of the places is a sum over the samples, and goes on as it is.
  void operator()(const op::Places&) const {
    builder_.elementwise({3.0 * elements(input()), 0.0, 1, 0, Share::whole});
    builder_.backward_weight(
        {0.0, builder_.element_bytes() * elements(input()), 0.0, 0.0, 1, Share::whole});
  }
  void operator()(const op::Enlarge&) const {
    const double both = elements(input()) + elements(*op_.output);
    builder_.elementwise({both, both, 1, 1, Share::whole});
  }
  void operator()(const op::Tiles&) const { elementwise(input(), 2.0, 2.0); }
  void operator()(const op::SquareLoss&) const { elementwise(input(), 2.0, 3.0); }

 private:
  const OperatorList& list() const { return layer_.operators; }
  ValueIndex input() const { return op_.inputs.front(); }
  double rows(ValueIndex v) const { return static_cast<double>(list().values[v].rows); }
  double columns(ValueIndex v) const { return static_cast<double>(list().values[v].columns); }
  double elements(ValueIndex v) const { return rows(v) * columns(v); }
  /// Numbers read and written for each element of a value.
  void elementwise(ValueIndex v, double forward, double backward, int launches = 1) const {
    const Share share = list().values[v].is_whole() ? Share::whole : Share::divided;
    builder_.elementwise(
        {forward * elements(v), backward * elements(v), launches, launches, share});
  }

  WorkBuilder& builder_;
  const Layer& layer_;
  const Operator& op_;
};

}  // namespace

Work work_of(const Layer& layer, double compute_bytes) {
  WorkBuilder builder(compute_bytes);
  for (const Operator& op : layer.operators.operators)
    std::visit(Worker(builder, layer, op), op.kind);
  return builder.take();
}

void fold(Layer& layer, double compute_bytes) {
  layer.work = work_of(layer, compute_bytes);
  layer.flop_forward = flop_of(layer.work.forward);
  layer.flop_backward_input = flop_of(layer.work.backward_input);
  layer.flop_backward_weight = flop_of(layer.work.backward_weight);
  layer.output_bytes = layer.output ? layer.output->bytes() : 0.0;
  layer.stored_bytes = kept_bytes(layer.operators, Recompute::none, compute_bytes);
  layer.tensor_parallel_allreduce_bytes = allreduce_bytes(layer.operators);
  layer.exchange_bytes = exchanged_bytes(layer.divided_by(WeightDivision::exchange), compute_bytes);
  layer.batch_norms = layer.batch_norm_channels = 0.0;
  for (const Operator& op : layer.operators.operators) {
    if (op.as<op::BatchNorm>() == nullptr) continue;
    layer.batch_norms += 1.0;
    layer.batch_norm_channels += static_cast<double>(layer.operators.values[*op.output].columns);
  }
  layer.signature = signature_of(layer);
}

}  // namespace pptrain
