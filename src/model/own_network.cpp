#include "model/own_network.hpp"

#include <cmath>
#include <map>

#include "model/chain.hpp"

namespace pptrain {
namespace {

NormForm norm_of(const LayerConfig& layer) {
  return {layer.norm == "rms" ? NormKind::rms : NormKind::layer, static_cast<float>(layer.epsilon), false};
}

/// Block `i` of those that a layer repeats.
BlockShape repeated_block(const LayerConfig& layer, std::int64_t i, std::int64_t hidden) {
  BlockShape block = own_block(layer, hidden);
  if ((i + 1) % layer.experts_every != 0) block.experts = {};
  return block;
}

}  // namespace

BlockShape own_block(const LayerConfig& layer, std::int64_t hidden) {
  BlockShape block;
  block.heads = layer.heads;
  block.key_heads = layer.num_key_heads();
  block.head_size = layer.head_columns(hidden);
  block.feed_forward = layer.feed_forward > 0 ? layer.feed_forward : 4 * hidden;
  block.norm = norm_of(layer);
  block.rotary.rotated = layer.rotated_columns(hidden);
  if (block.rotary.rotated > 0) block.rotary.theta = layer.rotary_theta;
  block.activation = activation_named(layer.activation);
  block.gated = layer.gated;
  block.query_bias = layer.query_bias;
  block.output_bias = layer.output_bias;
  block.feed_forward_bias = layer.feed_forward_bias;
  block.head_norms = layer.head_norms;
  if (layer.experts > 0) {
    block.experts.form = {layer.experts, layer.experts_per_token};
    block.experts.normalised = layer.experts_sum_to_one;
    block.experts.capacity = layer.expert_capacity;
    block.experts.shared = layer.shared_expert;
  }
  block.parallel = layer.parallel;
  block.window = layer.window;
  return block;
}

double stream_deviation(double deviation, std::int64_t num_blocks) {
  return deviation / std::sqrt(2.0 * static_cast<double>(num_blocks));
}

Activation activation_named(const std::string& name) {
  static const std::map<std::string, Activation> known = {{"gelu_tanh", Activation::gelu_tanh},
                                                          {"gelu", Activation::gelu},
                                                          {"silu", Activation::silu},
                                                          {"relu", Activation::relu}};
  return known.at(name);
}

Model build_own_network(const ModelConfig& model, const TrainingConfig& training) {
  if (model.layer.front().reads_images()) return build_own_images(model, training);
  if (model.layer.front().reads_latents()) return build_own_drawing(model, training);
  ChainShape chain;
  chain.name = model.name;
  chain.vocabulary = model.vocabulary_size;
  chain.hidden = model.layer.front().columns;
  chain.positions = model.layer.front().positions;
  chain.tokens = training.sequence_length;
  chain.norm = norm_of(model.layer.back());
  chain.tied = model.layer.back().tied;
  for (const LayerConfig& layer : model.layer) {
    if (layer.kind != "block") continue;
    for (std::int64_t i = 0; i < layer.repeat; ++i) chain.blocks.push_back(repeated_block(layer, i, chain.hidden));
  }
  chain.stream_deviation = stream_deviation(chain.deviation, static_cast<std::int64_t>(chain.blocks.size()));
  chain.compute_bytes = element_bytes(training.precision);
  return build_chain(chain);
}

}  // namespace pptrain
