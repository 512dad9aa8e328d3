#include "base/error.hpp"
#include "nn/distance_bias.hpp"
#include "nn/operators/attention_inputs.hpp"
#include "nn/operators/modules.hpp"
#include "nn/rotary_table.hpp"

namespace pptrain {
namespace {

/// Turns the heads of a value by their place.
class RotaryModule final : public OperatorModule {
 public:
  RotaryModule(const op::Rotary& kind, OperatorPlace place)
      : OperatorModule(std::move(place)),
        kind_(kind),
        table_(rotary_table(context(), kind.form, length())) {}

  void forward(Batch& /*batch*/, Pass& pass) override { rotate(pass.matrix(output()), false); }
  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    rotate(own_gradient(pass, output()), true);
  }

 private:
  std::size_t length() const { return static_cast<std::size_t>(value(output()).rows); }
  void rotate(const Matrix& all, bool back) const {
    const Matrix x = rotated_columns(kind_, all);
    kernels().rotate(x, length(), x.columns / static_cast<std::size_t>(kind_.head_size), *table_,
                     back);
  }

  op::Rotary kind_;
  std::shared_ptr<const Tensor> table_;
};

/// Attention of the heads that this member has.
class AttentionModule final : public OperatorModule {
 public:
  AttentionModule(const op::SelfAttention& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), kind_(kind) {
    if (kind_.buckets.count > 0)
      bias_.emplace(kind_.buckets, length(output()), length(op().inputs.back()), arena());
  }

  void forward(Batch& batch, Pass& pass) override {
    attend(batch, pass);
    if (context().recompute == Recompute::selective) statistics(pass).clear();
  }

  void backward_input(const Batch& batch, Pass& pass) override {
    if (statistics(pass).empty()) attend(batch, pass);
    std::vector<Tensor> gradients;
    for (const ValueIndex v : op().inputs) gradients.push_back(new_gradient(batch, v));
    const AttentionInputs p = attention_inputs(op(), [&](ValueIndex v) { return pass.matrix(v); });
    std::size_t next = 0;
    const AttentionInputs d =
        attention_inputs(op(), [&](ValueIndex) { return gradients[next++].matrix(); });
    const Tensor bias = spread_bias(), bias_gradient = like_bias();
    if (bias_) kernels().fill_zero(bias_gradient.f32(), bias_gradient.size());
    context().backend.attention.backward(
        {form(batch, bias, bias_gradient), p.q, p.k, p.v, pass.values[output()],
         statistics(pass).front().f32(), pass.gradients[output()].matrix, d.q, d.k, d.v},
        arena());
    statistics(pass).clear();
    if (bias_) statistics(pass).push_back(collected(bias_gradient));
    for (std::size_t i = 0; i < gradients.size(); ++i)
      add_gradient(pass, input(i), make_gradient(std::move(gradients[i])));
  }

  /// B has left the gradient of the table.
  void backward_weight(const Batch& /*batch*/, Pass& pass) override {
    if (!bias_) return;
    const Tensor& gradient = statistics(pass).front();
    kernels().add(gradient.f32(), store().adding(parameter(0)), gradient.size());
  }

 private:
  void attend(const Batch& batch, Pass& pass) const {
    Tensor out = new_value(batch, output());
    std::vector<Tensor>& log_sum = statistics(pass);
    log_sum.clear();
    const Tensor bias = spread_bias();
    const AttentionForm f = form(batch, bias, {});
    log_sum.emplace_back(arena(), 1, out.rows() * f.heads);
    const AttentionInputs p = attention_inputs(op(), [&](ValueIndex v) { return pass.matrix(v); });
    context().backend.attention.forward({f, p.q, p.k, p.v, out, log_sum.front().f32()}, arena());
    pass.values[output()] = std::move(out);
  }

  std::size_t length(ValueIndex v) const { return static_cast<std::size_t>(value(v).rows); }
  /// Rows that see each other.
  std::size_t span() const {
    return kind_.span > 0 ? static_cast<std::size_t>(kind_.span) : length(output());
  }
  std::size_t own_heads() const {
    return columns(output()) / static_cast<std::size_t>(kind_.head_size);
  }

  /// The bias by distance of this member's heads, and room for one; nothing without a bias.
  Tensor spread_bias() const {
    Tensor all = like_bias();
    if (bias_) kernels().spread_columns(store().weight_matrix(parameter(0)), bias_->buckets(), all);
    return all;
  }
  Tensor like_bias() const {
    return bias_ ? Tensor(arena(), own_heads(), bias_->distances()) : Tensor();
  }
  /// The gradient of the table from that by distance.
  Tensor collected(const Tensor& by_distance) const {
    Tensor table(arena(), own_heads(), static_cast<std::size_t>(kind_.buckets.count));
    kernels().collect_columns(by_distance, bias_->buckets(), table);
    return table;
  }

  AttentionForm form(const Batch& batch, const Tensor& bias, const Tensor& bias_gradient) const {
    AttentionForm f = attention_of_member(kind_, value(output()), part(output()));
    f.samples = batch.samples * (length(output()) / span());
    f.sequence_length = span();
    f.document_begin = batch.document_begin;
    if (length(op().inputs.back()) != length(output())) f.key_length = length(op().inputs.back());
    if (!kind_.causal) f.seen_keys = batch.input_lengths;
    if (bias_) f.bias = bias.f32();
    if (bias_gradient) f.bias_gradient = bias_gradient.f32();
    return f;
  }

  op::SelfAttention kind_;
  std::optional<DistanceBias> bias_;
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::Rotary& kind, OperatorPlace place) {
  return std::make_unique<RotaryModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::SelfAttention& kind, OperatorPlace place) {
  return std::make_unique<AttentionModule>(kind, std::move(place));
}

}  // namespace pptrain
