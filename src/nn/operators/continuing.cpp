#include "nn/operators/continuing.hpp"

#include "base/error.hpp"
#include "kernels/host/cached_attention.hpp"
#include "nn/operators/attention_inputs.hpp"
#include "nn/rotary_table.hpp"

namespace pptrain {
namespace {

/// A module without backward passes.
class ContinuingModule : public OperatorModule {
 public:
  ContinuingModule(OperatorPlace place, const TextPlace& where)
      : OperatorModule(std::move(place)), where_(where) {}
  void backward_input(const Batch& /*batch*/, Pass& /*pass*/) override {
    PPTRAIN_ASSERT(false, "a text is continued, not trained on");
  }

 protected:
  const TextPlace& where() const { return where_; }

 private:
  const TextPlace& where_;
};

class ContinuingEmbedding final : public ContinuingModule {
 public:
  ContinuingEmbedding(const op::Embedding& kind, OperatorPlace place, const TextPlace& where)
      : ContinuingModule(std::move(place), where), kind_(kind) {}

  void forward(Batch& batch, Pass& pass) override {
    Tensor x = new_value(batch, output());
    kernels().embedding_forward(
        {batch.tokens, x.rows(), context().part(ShardAxis::vocabulary).begin},
        store().weight_matrix(parameter(0)), places(x.rows()),
        kind_.positions && group().rank() == 0, x);
    pass.values[output()] = std::move(x);
  }

 private:
  Matrix places(std::size_t count) const {
    if (!kind_.positions) return {};
    const std::size_t first = static_cast<std::size_t>(kind_.first_position) + where().first;
    return store().weight_matrix(parameter(1)).rows_from(first, count);
  }

  op::Embedding kind_;
};

class ContinuingRotary final : public ContinuingModule {
 public:
  ContinuingRotary(const op::Rotary& kind, OperatorPlace place, const TextPlace& where)
      : ContinuingModule(std::move(place), where),
        kind_(kind),
        table_(rotary_table(context(), kind.form, where.capacity)) {}

  void forward(Batch& /*batch*/, Pass& pass) override {
    const Matrix x = rotated_columns(kind_, pass.matrix(output()));
    kernels().rotate(x, x.rows, x.columns / static_cast<std::size_t>(kind_.head_size),
                     table_->matrix().rows_from(where().first, x.rows), false);
  }

 private:
  op::Rotary kind_;
  std::shared_ptr<const Tensor> table_;
};

/// Keeps the keys and values of all rows so far.
class ContinuingAttention final : public ContinuingModule {
 public:
  ContinuingAttention(const op::SelfAttention& kind, OperatorPlace place, const TextPlace& where)
      : ContinuingModule(std::move(place), where), kind_(kind) {
    const std::size_t columns = form(0).key_heads * form(0).head_size;
    for (Tensor* kept : {&keys_, &values_})
      *kept = Tensor(arena(), where.capacity, columns, context().type);
  }

  void forward(Batch& batch, Pass& pass) override {
    const AttentionInputs p = attention_inputs(op(), [&](ValueIndex v) { return pass.matrix(v); });
    Tensor out = new_value(batch, output());
    const std::size_t length = where().first + out.rows();
    attend_cached(form(length), p.q, keep(p.k, keys_), keep(p.v, values_), out);
    pass.values[output()] = std::move(out);
  }

 private:
  /// Adds the keys, or values, of new rows to what is kept, and returns those of all rows so far.
  Matrix keep(const Matrix& rows, const Tensor& kept) const {
    kernels().convert(rows, kept.matrix().rows_from(where().first, rows.rows));
    return kept.matrix().rows_from(0, where().first + rows.rows);
  }

  AttentionForm form(std::size_t length) const {
    AttentionForm f = attention_of_member(kind_, value(output()), part(output()));
    f.samples = 1;
    f.sequence_length = length;
    return f;
  }

  op::SelfAttention kind_;
  Tensor keys_, values_;
};

}  // namespace

std::unique_ptr<OperatorModule> make_continuing(OperatorPlace place, const TextPlace& where) {
  const Operator::Kind kind = place.fused.op.kind;
  if (const auto* of = std::get_if<op::Embedding>(&kind))
    return std::make_unique<ContinuingEmbedding>(*of, std::move(place), where);
  if (const auto* of = std::get_if<op::Rotary>(&kind))
    return std::make_unique<ContinuingRotary>(*of, std::move(place), where);
  if (const auto* of = std::get_if<op::SelfAttention>(&kind))
    return std::make_unique<ContinuingAttention>(*of, std::move(place), where);
  return make_operator(std::move(place));
}

}  // namespace pptrain
