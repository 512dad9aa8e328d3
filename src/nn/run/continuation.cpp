#include "nn/run/continuation.hpp"

#include "base/error.hpp"
#include "nn/gather_columns.hpp"
#include "nn/run/operator_layer.hpp"

namespace pptrain {
namespace {

/// The loss at the end of the last layer's operators; null in other layers.
const op::Loss* loss_of(const OperatorList& list) { return list.operators.back().as<op::Loss>(); }

/// The operators as they compute any number of positions, each a sample of its own, up to the
/// logits. `positions`: of a sample in training, each of which has one row of a value, or as many
/// as experts that it goes to.
OperatorList row_by_row(OperatorList list, std::int64_t positions) {
  for (Value& value : list.values) value.rows /= positions;
  if (list.output) return list;
  PPTRAIN_ASSERT(loss_of(list) != nullptr, "the last layer has no loss");
  list.output = list.operators.back().inputs.front();
  list.operators.pop_back();
  return list;
}

}  // namespace

/// This process's share of neighbouring layers.
class Continuation::Part {
 public:
  Part(const Model& model, const TextPart& part, DType type, Arena& arena, const TextPlace& where)
      : context_{host_backend(), arena,       *part.group,     store_,       model,
                 type,           part.shards, Recompute::none, part.division} {
    for (std::int64_t l = part.layers.begin; l < part.layers.end; ++l) {
      const Layer& layer = model.layers[static_cast<std::size_t>(l)];
      const std::vector<std::size_t> parameters = add_parameters(layer, ChunkId(0), context_);
      const OperatorList& whole = layer.divided_by(part.division);
      if (const op::Loss* loss = loss_of(whole)) logit_cap_ = static_cast<float>(loss->cap);
      const OperatorList list = row_by_row(whole, model.sample.rows);
      result_ = list.values[*list.output];
      layers_.push_back(std::make_unique<OperatorLayer>(
          list, fused(list), parameters, context_,
          [&](OperatorPlace place) { return make_continuing(std::move(place), where); }));
    }
    store_.allocate_weights(arena, host_kernels(), type);
  }

  ParameterStore& store() { return store_; }
  const LayerContext& context() const { return context_; }
  std::size_t num_layers() const { return layers_.size(); }
  LayerModule& layer(std::size_t i) { return *layers_[i]; }
  /// How the group has the result of the last layer.
  const Value& result() const { return result_; }
  /// What the logits are held within (`op::Loss`); 0: nothing.
  float logit_cap() const { return logit_cap_; }

 private:
  ParameterStore store_;
  LayerContext context_;
  Value result_;
  float logit_cap_ = 0.0F;
  std::vector<std::unique_ptr<LayerModule>> layers_;
};

Continuation::~Continuation() = default;

Continuation::Continuation(const Model& model, std::size_t places, DType type)
    : model_(model),
      alone_(std::make_unique<LonelyTeam>(model.num_layers())),
      team_(*alone_),
      where_{0, places} {
  make_parts(type);
}

Continuation::Continuation(const Model& model, std::size_t places, DType type, TextTeam& team)
    : model_(model), team_(team), where_{0, places} {
  make_parts(type);
}

void Continuation::make_parts(DType type) {
  PPTRAIN_ASSERT(model_.sample.predicts_next(), "a {} reads no text", model_.name);
  for (const TextPart& part : team_.parts()) {
    parts_.push_back(part.group == nullptr
                         ? nullptr
                         : std::make_unique<Part>(model_, part, type, arena_, where_));
  }
}

void Continuation::fill(const std::function<void(const ParameterSpec&, Interval, float*)>& values) {
  for (const auto& part : parts_) {
    if (part) part->store().fill(values);
  }
}

/// What comes out of all layers but the last, a row for each token, on the processes that have the
/// last one.
Tensor Continuation::stream(std::span<const std::uint32_t> tokens) {
  PPTRAIN_ASSERT(!tokens.empty() && where_.first + tokens.size() <= where_.capacity,
                 "{} tokens behind {} of {}", tokens.size(), where_.first, where_.capacity);
  Batch batch;
  batch.samples = tokens.size();
  batch.tokens = tokens.data();
  Tensor x;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const bool has_last = p + 1 == parts_.size();
    const std::size_t layers = parts_[p] ? parts_[p]->num_layers() - (has_last ? 1 : 0) : 0;
    for (std::size_t i = 0; i < layers; ++i)
      x = parts_[p]->layer(i).forward(batch, std::move(x), nullptr);
    if (has_last) break;
    const Port port =
        model_.boundary_behind(static_cast<int>(team_.parts()[p].layers.end) - 1).packed();
    team_.pass_on(p, x, tokens.size(), static_cast<std::size_t>(port.columns));
  }
  where_.first += tokens.size();
  return x;
}

std::vector<float> Continuation::logits(Tensor stream) {
  Part& last = *parts_.back();
  const LayerContext& context = last.context();
  Batch batch;
  const std::size_t rows = batch.samples = stream.rows();
  Tensor result = last.layer(last.num_layers() - 1).forward(batch, std::move(stream), nullptr);
  if (last.logit_cap() > 0.0F) host_kernels().soft_cap(result.matrix(), last.logit_cap());
  if (!last.result().is_whole()) {
    // Rows of a narrow type may be longer than the member's part of the vocabulary.
    const auto columns = static_cast<std::size_t>(context.part(ShardAxis::vocabulary).size());
    Tensor own(arena_, rows, columns);
    host_kernels().convert(result.matrix().columns_from(0, columns), own);
    result = gathered_columns(context, context.parts(ShardAxis::vocabulary), std::move(own));
  }
  std::vector<float> values(rows * vocabulary());
  host_kernels().convert(result.matrix().columns_from(0, vocabulary()),
                         Matrix(values.data(), rows, vocabulary()));
  return values;
}

std::vector<float> Continuation::read(std::span<const std::uint32_t> tokens) {
  Tensor all = stream(tokens);
  if (!parts_.back()) return {};
  if (all.rows() == 1) return logits(std::move(all));
  Tensor last(arena_, 1, all.columns());
  host_kernels().convert(all.matrix().rows_from(all.rows() - 1, 1), last);
  return logits(std::move(last));
}

std::vector<float> Continuation::read_each(std::span<const std::uint32_t> tokens) {
  Tensor all = stream(tokens);
  return parts_.back() ? logits(std::move(all)) : std::vector<float>();
}

}  // namespace pptrain
