#include <fmt/format.h>

#include "model/transformer.hpp"
#include "model/zoo_models.hpp"

namespace pptrain {
namespace {

/// Layers of T5's kind: no biases, normalisations of one vector each.
class EncoderDecoder {
 public:
  EncoderDecoder(const EncoderDecoderShape& shape, Precision precision)
      : e_(element_bytes(precision)),
        hidden_(static_cast<double>(shape.hidden)),
        source_(static_cast<double>(shape.source_tokens)),
        target_(static_cast<double>(shape.target_tokens)),
        vocabulary_(static_cast<double>(shape.vocabulary)),
        heads_(static_cast<double>(shape.heads)),
        feed_forward_(static_cast<double>(shape.feed_forward)) {}

  LayerDescription encoder_layer(const std::string& name) const {
    LayerDescription layer = transformer_layer(name, block(source_), e_);
    layer.parameters = weights(4.0) + 2.0 * hidden_;
    return layer;
  }

  /// The target's embedding; behind it the encoder's output goes along.
  LayerDescription target_embedding() const {
    LayerDescription layer = embedding_layer("decoder.embedding", target_, hidden_, vocabulary_ * hidden_, e_);
    layer.output_bytes = both();
    return layer;
  }

  LayerDescription decoder_layer(const std::string& name) const {
    LayerBuilder builder(name, e_);
    const TransformerSizes b = block(target_);
    add_self_attention(builder, b);
    add_cross_attention(builder, b, source_);
    add_feed_forward(builder, b);
    LayerDescription& layer = builder.layer();
    layer.parameters = weights(8.0) + 3.0 * hidden_;
    layer.output_bytes = both();
    // Of the cross-attention: inputs of normalisation and projection, q, output and its dropout
    // mask, keys and values of the source. The encoder's output itself is stored once per stage,
    // by the stage that receives it, and left out here.
    const double cross = target_ * hidden_ * (4.0 * e_ + 1.0) + source_ * hidden_ * 2.0 * e_ +
                         heads_ * target_ * source_ * (2.0 * e_ + 1.0);
    layer.stored_bytes = attention_stored_bytes(b, e_) + cross + feed_forward_stored_bytes(b, e_);
    // Self-attention, cross-attention and feed-forward; in B the gradient of the keys' and values'
    // input is summed too.
    layer.tensor_parallel_allreduce_bytes = e_ * hidden_ * (3.0 * target_ + 0.5 * source_);
    return layer;
  }

  LayerDescription source_embedding() const {
    return embedding_layer("encoder.embedding", source_, hidden_, vocabulary_ * hidden_, e_);
  }
  LayerDescription output() const {
    LayerDescription layer = output_layer("output", target_, hidden_, vocabulary_, e_);
    layer.parameters -= hidden_;  // the normalisation has no bias
    return layer;
  }

 private:
  TransformerSizes block(double tokens) const { return {tokens, hidden_, heads_, feed_forward_, tokens}; }
  double weights(double projections) const { return projections * hidden_ * hidden_ + 2.0 * hidden_ * feed_forward_; }
  double both() const { return e_ * (source_ + target_) * hidden_; }

  double e_;
  double hidden_;
  double source_;
  double target_;
  double vocabulary_;
  double heads_;
  double feed_forward_;
};

}  // namespace

ModelDescription encoder_decoder(const EncoderDecoderShape& shape, Precision precision) {
  const EncoderDecoder layers(shape, precision);
  ModelDescription model;
  model.precision = precision;
  model.tensor_parallel_degrees = dividing_degrees(shape.heads);
  model.axes = {{"heads", shape.heads}, {"columns", shape.feed_forward}, {"vocabulary", shape.vocabulary}};
  model.shared_parameters = 2.0 * static_cast<double>(shape.vocabulary * shape.hidden);
  model.layers.push_back(layers.source_embedding());
  for (std::int64_t i = 0; i < shape.encoder_layers; ++i) {
    model.layers.push_back(layers.encoder_layer(fmt::format("encoder.{}", i)));
  }
  model.layers.push_back(layers.target_embedding());
  for (std::int64_t i = 0; i < shape.decoder_layers; ++i) {
    model.layers.push_back(layers.decoder_layer(fmt::format("decoder.{}", i)));
  }
  model.layers.push_back(layers.output());
  return model;
}

}  // namespace pptrain
