#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "model/model.hpp"
#include "model/trainable.hpp"
#include "model/transformer.hpp"

namespace pptrain {
namespace {

/// Dimensions of one GPT-2, and what its layers need.
class Gpt2Builder {
 public:
  Gpt2Builder(const ModelConfig& model, const TrainingConfig& training)
      : config_(model),
        hidden_(model.hidden_size),
        tokens_(training.sequence_length),
        element_bytes_(training.precision == Precision::fp32 ? 4.0 : 2.0) {}

  Model build() const {
    Model model;
    model.name = config_.name;
    model.hidden_size = hidden_;
    model.heads = config_.heads;
    model.vocabulary_size = config_.vocabulary_size;
    model.sequence_length = tokens_;
    model.tied = config_.tied;
    model.layers.push_back(embedding());
    for (std::int64_t i = 0; i < config_.layers; ++i) model.layers.push_back(block(i, model));
    model.layers.push_back(output());
    return model;
  }

 private:
  ParameterSpec token_embedding(const std::string& name) const {
    return {name, {config_.vocabulary_size, hidden_}, ShardAxis::vocabulary, 0, 1, 1};
  }

  Layer embedding() const {
    Layer layer;
    layer.name = "embedding";
    layer.kind = LayerKind::embedding;
    layer.parameters = {token_embedding("wte.weight"), {"wpe.weight", {tokens_, hidden_}}};
    layer.output_bytes = residual_bytes();
    // A shard holds a part of the vocabulary, so the sum over shards is the embedding. The
    // backward pass needs none: every shard has the whole gradient. Both are charged alike.
    layer.tensor_parallel_allreduce_bytes = residual_bytes() / 2;
    return layer;
  }

  Layer block(std::int64_t index, const Model& model) const {
    const std::int64_t head_size = hidden_ / config_.heads;
    const std::int64_t columns = 4 * hidden_;
    const std::string prefix = fmt::format("h.{}.", index);
    Layer layer;
    layer.name = fmt::format("block.{}", index);
    layer.kind = LayerKind::transformer_block;
    layer.parameters = {
        {prefix + "ln_1.weight", {hidden_}},
        {prefix + "ln_1.bias", {hidden_}},
        {prefix + "attn.c_attn.weight", {3 * hidden_, hidden_}, ShardAxis::heads, 0, 3, head_size},
        {prefix + "attn.c_attn.bias", {3 * hidden_}, ShardAxis::heads, 0, 3, head_size},
        {prefix + "attn.c_proj.weight", {hidden_, hidden_}, ShardAxis::heads, 1, 1, head_size},
        {prefix + "attn.c_proj.bias", {hidden_}},
        {prefix + "ln_2.weight", {hidden_}},
        {prefix + "ln_2.bias", {hidden_}},
        {prefix + "mlp.c_fc.weight", {columns, hidden_}, ShardAxis::columns, 0, 1, 1},
        {prefix + "mlp.c_fc.bias", {columns}, ShardAxis::columns, 0, 1, 1},
        {prefix + "mlp.c_proj.weight", {hidden_, columns}, ShardAxis::columns, 1, 1, 1},
        {prefix + "mlp.c_proj.bias", {hidden_}},
    };
    for (ParameterSpec& spec : layer.parameters) {
      // Radford et al., GPT-2, 2019, section 2.3: what adds to the residual stream starts smaller.
      if (spec.name.ends_with(".c_proj.weight")) {
        spec.deviation *= 1.0 / std::sqrt(2.0 * static_cast<double>(config_.layers));
      }
    }
    const TransformerSizes shape = transformer_block(model);
    const double t = shape.tokens;
    const double h = shape.hidden;
    layer.flop_forward = projection_flop(shape) + attention_flop(shape);
    layer.flop_backward_input = projection_flop(shape) + 2.0 * attention_flop(shape);
    layer.flop_backward_weight = projection_flop(shape);
    layer.output_bytes = residual_bytes();
    // Two residual inputs in fp32, two pairs of LayerNorm statistics, the log-sum of each head,
    // and q, k, v, attention output and feed-forward pre-activation (3 + 1 + 4 widths).
    layer.stored_bytes = t * (8.0 * h + 16.0 + 4.0 * static_cast<double>(config_.heads) + 8.0 * h * element_bytes_);
    layer.tensor_parallel_allreduce_bytes = 2.0 * residual_bytes();
    return layer;
  }

  Layer output() const {
    Layer layer;
    layer.name = "output";
    layer.kind = LayerKind::output;
    layer.parameters = {{"ln_f.weight", {hidden_}},
                        {"ln_f.bias", {hidden_}},
                        token_embedding(config_.tied ? "wte.weight" : "lm_head.weight")};
    const double t = static_cast<double>(tokens_);
    const double v = static_cast<double>(config_.vocabulary_size);
    layer.flop_forward = 2.0 * t * static_cast<double>(hidden_) * v;
    layer.flop_backward_input = layer.flop_forward;
    layer.flop_backward_weight = layer.flop_forward;
    layer.output_bytes = 0.0;
    // The residual input, its normalised form, statistics, and the logits.
    layer.stored_bytes = t * (4.0 * static_cast<double>(hidden_) + 8.0 + element_bytes_ * v);
    layer.tensor_parallel_allreduce_bytes = residual_bytes() / 2;  // in B only; the loss adds 12 bytes a token
    return layer;
  }

  double residual_bytes() const { return 4.0 * static_cast<double>(tokens_ * hidden_); }

  const ModelConfig& config_;
  std::int64_t hidden_;
  std::int64_t tokens_;
  double element_bytes_;
};

}  // namespace

Model build_gpt2(const ModelConfig& model, const TrainingConfig& training, const std::string& source) {
  if (model.hidden_size % model.heads != 0) {
    std::int64_t nearest = model.heads;
    while (model.hidden_size % nearest != 0) --nearest;
    throw_bad_input({source, fmt::format("[model] heads = {} with hidden_size = {}", model.heads, model.hidden_size),
                     "each head needs an equal whole number of columns",
                     fmt::format("use heads = {} or a hidden_size that is a multiple of {}", nearest, model.heads)});
  }
  return Gpt2Builder(model, training).build();
}

}  // namespace pptrain
