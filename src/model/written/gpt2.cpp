#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "model/families/config_keys.hpp"
#include "model/graph/layer_graph.hpp"
#include "model/written/trainable.hpp"

namespace pptrain {
namespace {

/// Dimensions of one GPT-2 (Radford et al., 2019).
struct Gpt2Shape {
  std::string name;
  std::string prefix;  ///< of the names of all parameters but an untied output's
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;  ///< rows of the table of places
  std::int64_t tokens = 0;     ///< positions of a sample
  bool tied = false;
  NormForm norm;
  Activation activation = Activation::gelu_tanh;
  double deviation = 0.02;
  double compute_bytes = 4.0;
};

class Gpt2 {
 public:
  explicit Gpt2(const Gpt2Shape& shape) : s_(shape) {}

  Model build() const {
    Model model;
    model.name = s_.name;
    model.sample = {s_.tokens, 0, s_.vocabulary};
    model.axes = {{ShardAxis::heads, s_.heads},
                  {ShardAxis::columns, s_.feed_forward},
                  {ShardAxis::vocabulary, s_.vocabulary}};
    model.layers.push_back(embedding());
    for (std::int64_t i = 0; i < s_.layers; ++i) model.layers.push_back(block(i));
    model.layers.push_back(output());
    return model;
  }

 private:
  Layer embedding() const {
    LayerGraph g("embedding", s_.prefix, s_.deviation);
    g.output(g.embedding("wte", {s_.vocabulary, s_.hidden, s_.tokens, "wpe", s_.positions}));
    return g.finish(s_.compute_bytes);
  }

  Layer block(std::int64_t index) const {
    LayerGraph g(fmt::format("block.{}", index), fmt::format("{}h.{}.", s_.prefix, index),
                 s_.deviation);
    ValueIndex x = g.input({s_.tokens, s_.hidden});
    x = g.add(x, attention(g, g.norm("ln_1", x, s_.norm)));
    x = g.add(x, feed_forward(g, g.norm("ln_2", x, s_.norm)));
    g.output(x);
    return g.finish(s_.compute_bytes);
  }

  /// Section 2.3: what adds to the residual stream starts smaller.
  double onto_stream() const {
    return s_.deviation * (1.0 / std::sqrt(2.0 * static_cast<double>(s_.layers)));
  }

  ValueIndex attention(LayerGraph& g, ValueIndex x) const {
    const std::int64_t head_size = s_.hidden / s_.heads;
    const ValueIndex qkv = g.linear("attn.c_attn", x,
                                    {.out = 3 * s_.hidden,
                                     .columns = {ShardAxis::heads, 3, head_size},
                                     .bias = true,
                                     .layout = FileLayout::transposed});
    const double scale = 1.0F / std::sqrt(static_cast<float>(head_size));
    const ValueIndex attended = g.attention({qkv}, {s_.heads, s_.heads, head_size, scale});
    return g.linear("attn.c_proj", attended,
                    {.out = s_.hidden,
                     .rows = {ShardAxis::heads, 1, head_size},
                     .bias = true,
                     .deviation = onto_stream(),
                     .layout = FileLayout::transposed});
  }

  ValueIndex feed_forward(LayerGraph& g, ValueIndex x) const {
    const ValueIndex up = g.linear("mlp.c_fc", x,
                                   {.out = s_.feed_forward,
                                    .columns = {ShardAxis::columns},
                                    .bias = true,
                                    .layout = FileLayout::transposed});
    return g.linear("mlp.c_proj", g.activate(up, s_.activation),
                    {.out = s_.hidden,
                     .rows = {ShardAxis::columns},
                     .bias = true,
                     .deviation = onto_stream(),
                     .layout = FileLayout::transposed});
  }

  Layer output() const {
    LayerGraph g("output", "", s_.deviation);
    g.language_output(g.input({s_.tokens, s_.hidden}),
                      {s_.prefix + "ln_f", s_.norm, "lm_head", s_.vocabulary,
                       s_.tied ? s_.prefix + "wte.weight" : ""});
    return g.finish(s_.compute_bytes);
  }

  const Gpt2Shape& s_;
};

void refuse_long_samples(const ConfigJson& config, const Gpt2Shape& shape) {
  if (shape.tokens <= shape.positions) return;
  config.refuse(
      "n_positions",
      fmt::format("sequence_length = {} with n_positions = {}", shape.tokens, shape.positions),
      "each position has a row of its table of places",
      fmt::format("use [training] sequence_length <= {}", shape.positions));
}

}  // namespace

Model build_gpt2(const ModelConfig& model, const TrainingConfig& training,
                 const std::string& source) {
  if (model.hidden_size % model.heads != 0) {
    std::int64_t nearest = model.heads;
    while (model.hidden_size % nearest != 0) --nearest;
    throw_bad_input(
        {source,
         fmt::format("[model] heads = {} with hidden_size = {}", model.heads, model.hidden_size),
         "each head needs an equal whole number of columns",
         fmt::format("use heads = {} or a hidden_size that is a multiple of {}", nearest,
                     model.heads)});
  }
  Gpt2Shape shape;
  shape.name = model.name;
  shape.layers = model.layers;
  shape.hidden = model.hidden_size;
  shape.heads = model.heads;
  shape.feed_forward = 4 * model.hidden_size;
  shape.vocabulary = model.vocabulary_size;
  shape.positions = shape.tokens = training.sequence_length;
  shape.tied = model.tied;
  shape.compute_bytes = element_bytes(training.precision);
  return Gpt2(shape).build();
}

Model build_gpt2_family(const ConfigJson& config, const FamilyOptions& options) {
  Gpt2Shape shape;
  shape.name = "gpt2";
  shape.prefix = "transformer.";
  shape.layers = config.size("n_layer", std::nullopt, most_layers);
  shape.hidden = config.size("n_embd", std::nullopt, most_width);
  shape.heads = config.size("n_head", std::nullopt, most_heads);
  shape.feed_forward = config.size("n_inner", 4 * shape.hidden, most_columns);
  shape.vocabulary = config.size("vocab_size");
  shape.positions = config.size("n_positions");
  shape.tokens = options.tokens;
  shape.tied = config.boolean("tie_word_embeddings", true);
  shape.norm.epsilon = static_cast<float>(config.number("layer_norm_epsilon", 1e-5));
  shape.activation = activation_of(config, "activation_function", "gelu_new");
  shape.deviation = config.number("initializer_range", 0.02);
  shape.compute_bytes = options.compute_bytes;
  if (shape.hidden % shape.heads != 0) {
    config.refuse("n_head", fmt::format("n_head = {} with n_embd = {}", shape.heads, shape.hidden),
                  "each head needs an equal whole number of columns", "correct one of them");
  }
  refuse_long_samples(config, shape);
  config.integer("n_ctx", 0);  // an old name of n_positions
  config.only("scale_attn_weights", true, "scores are scaled");
  config.only("scale_attn_by_inverse_layer_idx", false, "all layers scale scores alike");
  config.only("add_cross_attention", false, "there is no encoder");
  return Gpt2(shape).build();
}

}  // namespace pptrain
