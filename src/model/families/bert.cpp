#include <fmt/format.h>

#include "model/families/encoder.hpp"

namespace pptrain {
namespace {

constexpr const char* token_table = "bert.embeddings.word_embeddings.weight";

/// Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", 2019, with its head for
/// masked tokens: a norm behind each sum, so that what crosses from block to block is normalised.
class Bert {
 public:
  Bert(const ConfigJson& config, const FamilyOptions& options)
      : shape_(encoder_shape(config, options.tokens)),
        compute_bytes_(options.compute_bytes),
        layers_(config.size("num_hidden_layers", std::nullopt, most_layers)),
        vocabulary_(config.size("vocab_size")),
        positions_(config.size("max_position_embeddings", 512)),
        types_(config.size("type_vocab_size", 2)) {
    config.only("position_embedding_type", std::string("absolute"),
                "each place has a row of a table");
    config.only("is_decoder", false, "every position attends to all");
    config.only("add_cross_attention", false, "there is one stream");
    config.only("tie_word_embeddings", true, "the output is the embedding's table");
    if (options.tokens <= positions_) return;
    config.refuse("max_position_embeddings",
                  fmt::format("sequence_length = {} with max_position_embeddings = {}",
                              options.tokens, positions_),
                  "each position has a row of its table of places",
                  fmt::format("use [training] sequence_length <= {}", positions_));
  }

  Model build() const {
    Model model;
    model.name = "bert";
    model.sample = {shape_.tokens, 0, vocabulary_, types_};
    model.axes = {{ShardAxis::heads, shape_.heads},
                  {ShardAxis::columns, shape_.feed_forward},
                  {ShardAxis::vocabulary, vocabulary_}};
    model.layers.push_back(embedding());
    for (std::int64_t i = 0; i < layers_; ++i) model.layers.push_back(block(i));
    model.layers.push_back(output());
    return model;
  }

 private:
  Layer embedding() const {
    LayerGraph g("embedding", "bert.embeddings.", shape_.deviation);
    const ValueIndex words = g.embedding(
        "word_embeddings",
        {vocabulary_, shape_.hidden, shape_.tokens, "position_embeddings", positions_, 0});
    const ValueIndex types =
        g.token_types("token_type_embeddings", types_, shape_.tokens, shape_.hidden);
    g.output(g.norm("LayerNorm", g.add(words, types), shape_.norm, Element::fp32));
    return g.finish(compute_bytes_);
  }

  Layer block(std::int64_t i) const {
    LayerGraph g(fmt::format("block.{}", i), fmt::format("bert.encoder.layer.{}.", i),
                 shape_.deviation);
    const ValueIndex x = g.input(shape_.stream());
    const ValueIndex attended = g.add(x, encoder_attention(g, x, shape_, "attention.self."));
    const ValueIndex middle =
        g.norm("attention.output.LayerNorm", attended, shape_.norm, Element::fp32);
    const ValueIndex sum = g.add(middle, encoder_feed_forward(g, middle, shape_));
    g.output(g.norm("output.LayerNorm", sum, shape_.norm, Element::fp32));
    return g.finish(compute_bytes_);
  }

  /// Every member of a group transforms all positions; the vocabulary is divided.
  Layer output() const {
    LayerGraph g("output", "cls.", shape_.deviation);
    const ValueIndex dense = g.linear("predictions.transform.dense", g.input(shape_.stream()),
                                      {.out = shape_.hidden, .bias = true, .wide = true});
    const ValueIndex normal = g.norm("predictions.transform.LayerNorm",
                                     g.activate(dense, shape_.activation), shape_.norm);
    g.loss(g.linear("predictions", normal,
                    {.out = vocabulary_,
                     .columns = {ShardAxis::vocabulary},
                     .bias = true,
                     .padded = true,
                     .tied_to = token_table}));
    return g.finish(compute_bytes_);
  }

  EncoderShape shape_;
  double compute_bytes_;
  std::int64_t layers_;
  std::int64_t vocabulary_;
  std::int64_t positions_;
  std::int64_t types_;
};

}  // namespace

Model build_bert(const ConfigJson& config, const FamilyOptions& options) {
  return Bert(config, options).build();
}

}  // namespace pptrain
