#include "nn/operators/attention_inputs.hpp"
#include "nn/operators/modules.hpp"
#include "nn/rotary_table.hpp"

namespace pptrain {
namespace {

/// Turns the heads of a value by their place.
class RotaryModule final : public OperatorModule {
 public:
  RotaryModule(const op::Rotary& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), kind_(kind), table_(rotary_table(context(), kind.form, length())) {}

  void forward(Batch& /*batch*/, Pass& pass) override { rotate(pass.matrix(output()), false); }
  void backward_input(const Batch& /*batch*/, Pass& pass) override { rotate(own_gradient(pass, output()), true); }

 private:
  std::size_t length() const { return static_cast<std::size_t>(value(output()).rows); }
  void rotate(const Matrix& all, bool back) const {
    const Matrix x = rotated_columns(kind_, all);
    kernels().rotate(x, length(), x.columns / static_cast<std::size_t>(kind_.head_size), *table_, back);
  }

  op::Rotary kind_;
  std::shared_ptr<const Tensor> table_;
};

/// Self-attention of the heads that this member has.
class AttentionModule final : public OperatorModule {
 public:
  AttentionModule(const op::SelfAttention& kind, OperatorPlace place) : OperatorModule(std::move(place)), kind_(kind) {}

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
    const AttentionInputs d = attention_inputs(op(), [&](ValueIndex) { return gradients[next++].matrix(); });
    context().backend.attention.backward(form(batch), p.q, p.k, p.v, pass.values[output()],
                                         statistics(pass).front().f32(), pass.gradients[output()].matrix, d.q, d.k, d.v,
                                         arena());
    statistics(pass).clear();
    for (std::size_t i = 0; i < gradients.size(); ++i)
      add_gradient(pass, input(i), make_gradient(std::move(gradients[i])));
  }

 private:
  void attend(const Batch& batch, Pass& pass) const {
    Tensor out = new_value(batch, output());
    std::vector<Tensor>& log_sum = statistics(pass);
    log_sum.clear();
    log_sum.emplace_back(arena(), 1, out.rows() * form(batch).heads);
    const AttentionInputs p = attention_inputs(op(), [&](ValueIndex v) { return pass.matrix(v); });
    context().backend.attention.forward(form(batch), p.q, p.k, p.v, out, log_sum.front().f32(), arena());
    pass.values[output()] = std::move(out);
  }

  AttentionForm form(const Batch& batch) const {
    AttentionForm f = attention_of_member(kind_, value(output()), part(output()));
    f.samples = batch.samples;
    f.sequence_length = static_cast<std::size_t>(value(output()).rows);
    f.document_begin = batch.document_begin;
    return f;
  }

  op::SelfAttention kind_;
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::Rotary& kind, OperatorPlace place) {
  return std::make_unique<RotaryModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::SelfAttention& kind, OperatorPlace place) {
  return std::make_unique<AttentionModule>(kind, std::move(place));
}

}  // namespace pptrain
