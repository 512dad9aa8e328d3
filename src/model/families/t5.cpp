#include <fmt/format.h>

#include <cmath>

#include "model/families/config_keys.hpp"
#include "model/graph/layer_graph.hpp"

namespace pptrain {
namespace {

constexpr const char* shared_table = "shared.weight";
constexpr std::int64_t fewest_buckets = 4;
constexpr std::int64_t most_buckets = 65536;

/// Raffel et al., "Exploring the limits of transfer learning with a unified text-to-text
/// transformer", 2020, and its version 1.1: an encoder whose positions all see each other, and a
/// decoder that attends to what comes out of it. Norms are RMS and before each part, nothing has a
/// bias, scores are not scaled, and what is added to them by distance is shared by all layers of a
/// side.
class T5 {
 public:
  T5(const ConfigJson& config, const FamilyOptions& options)
      : target_(options.tokens),
        source_(options.source_tokens > 0 ? options.source_tokens : options.tokens),
        compute_bytes_(options.compute_bytes),
        hidden_(config.size("d_model", 512, most_width)),
        heads_(config.size("num_heads", 8, most_heads)),
        head_size_(config.size("d_kv", 64, most_width)),
        feed_forward_(config.size("d_ff", 2048, most_columns)),
        encoder_layers_(config.size("num_layers", 6, most_layers)),
        decoder_layers_(config.size("num_decoder_layers", encoder_layers_, most_layers)),
        vocabulary_(config.size("vocab_size", 32128)),
        buckets_(config.size("relative_attention_num_buckets", 32, most_buckets)),
        largest_distance_(config.size("relative_attention_max_distance", 128)),
        first_token_(config.integer("decoder_start_token_id", 0)),
        padding_(config.integer("pad_token_id", 0)),
        tied_(is_tied(config)),
        factor_(config.number("initializer_factor", 1.0)) {
    norm_.epsilon = static_cast<float>(config.number("layer_norm_epsilon", 1e-6));
    read_feed_forward(config);
    check(config);
  }

  Model build() const {
    Model model;
    model.name = "t5";
    model.sample = {target_, 0, vocabulary_, 0, {}, {source_, first_token_, padding_}};
    model.axes = {{ShardAxis::heads, heads_},
                  {ShardAxis::columns, feed_forward_},
                  {ShardAxis::vocabulary, vocabulary_}};
    model.layers.push_back(source_embedding());
    for (std::int64_t i = 0; i < encoder_layers_; ++i) model.layers.push_back(encoder_layer(i));
    model.layers.push_back(target_embedding());
    for (std::int64_t i = 0; i < decoder_layers_; ++i) model.layers.push_back(decoder_layer(i));
    model.layers.push_back(output());
    return model;
  }

 private:
  /// Transformers 5 writes `scale_decoder_outputs` and says of every model that it is tied; before
  /// it models of version 1.1 said that they are not.
  static bool is_tied(const ConfigJson& config) {
    const bool tied = config.boolean("tie_word_embeddings", true);
    return config.boolean("scale_decoder_outputs", tied);
  }

  /// "relu", or "gated-gelu" with a second product; GELU is by tanh there.
  void read_feed_forward(const ConfigJson& config) {
    const std::string text = config.text("feed_forward_proj", "relu"), prefix = "gated-";
    gated_ = text.starts_with(prefix);
    const std::string name = text == "gated-gelu" ? "gelu_new"
                             : gated_             ? text.substr(prefix.size())
                                                  : text;
    activation_ = activation_named(config, "feed_forward_proj", name);
    const char* follows = "it follows from feed_forward_proj";
    config.only("dense_act_fn", name, follows);
    config.only("is_gated_act", gated_, follows);
  }

  void check(const ConfigJson& config) const {
    config.only("is_encoder_decoder", true, "there are an encoder and a decoder");
    config.only("is_decoder", false, "there are an encoder and a decoder");
    for (const auto& [key, token] :
         {std::pair{"decoder_start_token_id", first_token_}, {"pad_token_id", padding_}}) {
      if (0 <= token && token < vocabulary_) continue;
      config.refuse(key, fmt::format("{} = {} is no token", key, token),
                    fmt::format("the vocabulary admits 0 to {}", vocabulary_ - 1),
                    "correct it, or vocab_size");
    }
    if (buckets_ < fewest_buckets || buckets_ % 2 != 0) {
      config.refuse(
          "relative_attention_num_buckets", fmt::format("{} buckets of distances", buckets_),
          fmt::format(
              "half of them are for either side, so that their number is even and at least {}",
              fewest_buckets),
          "correct relative_attention_num_buckets");
    }
    if (largest_distance_ > buckets_ / 2) return;
    config.refuse("relative_attention_max_distance",
                  fmt::format("distances up to {} in {} buckets", largest_distance_, buckets_),
                  "half of the buckets are one distance each, and the others hold larger ones",
                  "correct relative_attention_max_distance or relative_attention_num_buckets");
  }

  Port source_port() const { return {source_, hidden_, "source"}; }
  Port stream_port() const { return {target_, hidden_}; }
  double deviation(std::int64_t columns) const {
    return factor_ / std::sqrt(static_cast<double>(columns));
  }

  ValueIndex embedding(LayerGraph& g, std::int64_t rows, bool decoder) const {
    LayerGraph::EmbeddingShape shape;
    shape.vocabulary = vocabulary_;
    shape.columns = hidden_;
    shape.rows = rows;
    shape.decoder = decoder;
    return g.embedding("shared", shape);
  }

  Layer source_embedding() const {
    LayerGraph g("encoder.embedding", "", factor_);
    g.output(embedding(g, source_, false));
    return g.finish(compute_bytes_);
  }

  Layer encoder_layer(std::int64_t i) const {
    LayerGraph g = part("encoder", i);
    ValueIndex x = g.input({source_, hidden_});
    op::SelfAttention among = attention_shape();
    among.causal = false;
    among.buckets = {buckets_, largest_distance_, true};
    const ValueIndex normal = g.norm("0.layer_norm", x, norm_);
    x = g.add(x, attention(g, "0.SelfAttention", normal, normal, among, bias_of("encoder")));
    x = g.add(x, feed_forward(g, "1.", x));
    g.output(x);
    return g.finish(compute_bytes_);
  }

  /// What the decoder reads: the encoder's output, normalised, and its own tokens.
  Layer target_embedding() const {
    LayerGraph g("decoder.embedding", "", factor_);
    const ValueIndex source =
        g.norm("encoder.final_layer_norm", g.input({source_, hidden_}), norm_, Element::fp32);
    g.outputs({{"source", source}, {"stream", embedding(g, target_, true)}});
    return g.finish(compute_bytes_);
  }

  /// Behind the last one nobody reads the source.
  Layer decoder_layer(std::int64_t i) const {
    LayerGraph g = part("decoder", i);
    const std::vector<ValueIndex> ports = g.inputs({source_port(), stream_port()});
    ValueIndex x = ports[1];
    op::SelfAttention before = attention_shape();
    before.buckets = {buckets_, largest_distance_, false};
    const ValueIndex normal = g.norm("0.layer_norm", x, norm_);
    x = g.add(x, attention(g, "0.SelfAttention", normal, normal, before, bias_of("decoder")));
    op::SelfAttention across = attention_shape();
    across.causal = false;
    x = g.add(
        x, attention(g, "1.EncDecAttention", g.norm("1.layer_norm", x, norm_), ports[0], across));
    x = g.add(x, feed_forward(g, "2.", x));
    if (i + 1 == decoder_layers_) {
      g.output(x);
    } else {
      g.outputs({{"source", ports[0]}, {"stream", x}});
    }
    return g.finish(compute_bytes_);
  }

  /// A tied table has rows as long as an embedding's, for which the output is scaled.
  Layer output() const {
    LayerGraph g("output", "", deviation(hidden_));
    g.language_output(g.input(stream_port()),
                      {.norm = "decoder.final_layer_norm",
                       .form = norm_,
                       .head = "lm_head",
                       .vocabulary = vocabulary_,
                       .tied_to = tied_ ? shared_table : "",
                       .scale = tied_ ? 1.0 / std::sqrt(static_cast<double>(hidden_)) : 1.0,
                       .deviation = tied_ ? factor_ : 0.0});
    return g.finish(compute_bytes_);
  }

  LayerGraph part(const std::string& side, std::int64_t i) const {
    return {fmt::format("{}.{}", side, i), fmt::format("{}.block.{}.layer.", side, i),
            deviation(hidden_)};
  }
  static std::string bias_of(const std::string& side) {
    return side + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight";
  }
  op::SelfAttention attention_shape() const {
    return {.heads = heads_, .key_heads = heads_, .head_size = head_size_, .scale = 1.0};
  }

  /// Attention of `x` to `others`. Initial queries are small, since scores are not scaled.
  ValueIndex attention(LayerGraph& g, const std::string& name, ValueIndex x, ValueIndex others,
                       const op::SelfAttention& shape, const std::string& bias = {}) const {
    const AxisDivision heads = {ShardAxis::heads, 1, head_size_};
    const std::int64_t inner = heads_ * head_size_;
    const auto product = [&](const char* of, ValueIndex from, double deviation) {
      return g.linear(name + of, from, {.out = inner, .columns = heads, .deviation = deviation});
    };
    const ValueIndex q = product(".q", x, deviation(hidden_ * head_size_));
    const ValueIndex k = product(".k", others, 0.0), v = product(".v", others, 0.0);
    return g.linear(name + ".o", g.attention({q, k, v}, shape, bias),
                    {.out = hidden_, .rows = heads, .deviation = deviation(inner)});
  }

  ValueIndex feed_forward(LayerGraph& g, const std::string& name, ValueIndex stream) const {
    const AxisDivision columns = {ShardAxis::columns};
    const ValueIndex x = g.norm(name + "layer_norm", stream, norm_);
    const auto product = [&](const char* of) {
      return g.linear(name + "DenseReluDense." + of, x, {.out = feed_forward_, .columns = columns});
    };
    ValueIndex inner = product(gated_ ? "wi_0" : "wi");
    inner = gated_ ? g.gate(inner, product("wi_1"), activation_) : g.activate(inner, activation_);
    return g.linear(name + "DenseReluDense.wo", inner,
                    {.out = hidden_, .rows = columns, .deviation = deviation(feed_forward_)});
  }

  std::int64_t target_;
  std::int64_t source_;
  double compute_bytes_;
  std::int64_t hidden_;
  std::int64_t heads_;
  std::int64_t head_size_;
  std::int64_t feed_forward_;
  std::int64_t encoder_layers_;
  std::int64_t decoder_layers_;
  std::int64_t vocabulary_;
  std::int64_t buckets_;
  std::int64_t largest_distance_;
  std::int64_t first_token_;
  std::int64_t padding_;
  bool tied_;
  double factor_;  ///< of the deviations of initial weights
  NormForm norm_ = {NormKind::rms, 1e-6F, false};
  bool gated_ = false;
  Activation activation_ = Activation::relu;
};

}  // namespace

Model build_t5(const ConfigJson& config, const FamilyOptions& options) {
  return T5(config, options).build();
}

}  // namespace pptrain
