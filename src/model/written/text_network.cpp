#include <cmath>
#include <variant>

#include "model/graph/chain.hpp"
#include "model/written/networks.hpp"

namespace pptrain {
namespace {

NormForm form_of(const NormConfig& norm) {
  return {norm.kind, static_cast<float>(norm.epsilon), false};
}

/// Block `i` of those that a layer repeats.
BlockShape repeated_block(const BlockConfig& layer, std::int64_t i, std::int64_t hidden) {
  BlockShape block = own_block(layer, hidden);
  if ((i + 1) % layer.experts.every != 0) block.experts = {};
  return block;
}

}  // namespace

BlockShape own_block(const BlockConfig& layer, std::int64_t hidden) {
  BlockShape block;
  block.heads = layer.heads;
  block.key_heads = layer.num_key_heads();
  block.head_size = layer.head_columns(hidden);
  block.feed_forward = layer.feed_forward > 0 ? layer.feed_forward : 4 * hidden;
  block.norm = form_of(layer.norm);
  block.rotary.rotated = layer.rotated_columns(hidden);
  if (block.rotary.rotated > 0) block.rotary.theta = layer.rotary_theta;
  block.activation = layer.activation;
  block.gated = layer.gated;
  block.query_bias = layer.query_bias;
  block.output_bias = layer.output_bias;
  block.feed_forward_bias = layer.feed_forward_bias;
  block.head_norms = layer.head_norms;
  if (const ExpertsConfig& experts = layer.experts; experts.number > 0) {
    block.experts.form = {experts.number, experts.per_token};
    block.experts.normalised = experts.sum_to_one;
    block.experts.capacity = experts.capacity;
    block.experts.shared = experts.shared;
  }
  block.parallel = layer.parallel;
  block.window = layer.window;
  return block;
}

double stream_deviation(double deviation, std::int64_t num_blocks) {
  return deviation / std::sqrt(2.0 * static_cast<double>(num_blocks));
}

Model build_own_network(const ModelConfig& model, const TrainingConfig& training) {
  if (model.layer.front().is<ImagesConfig>()) return build_own_images(model, training);
  if (model.layer.front().is<LatentConfig>()) return build_own_drawing(model, training);
  ChainShape chain;
  chain.name = model.name;
  chain.vocabulary = model.vocabulary_size;
  const auto& embedding = std::get<EmbeddingConfig>(model.layer.front().kind);
  const auto& output = std::get<OutputConfig>(model.layer.back().kind);
  chain.hidden = embedding.columns;
  chain.positions = embedding.positions;
  chain.tokens = training.sequence_length;
  chain.norm = form_of(output.norm);
  chain.tied = output.tied;
  for (const LayerConfig& layer : model.layer) {
    const auto* block = layer.as<BlockConfig>();
    if (block == nullptr) continue;
    for (std::int64_t i = 0; i < block->repeat; ++i)
      chain.blocks.push_back(repeated_block(*block, i, chain.hidden));
  }
  chain.stream_deviation =
      stream_deviation(chain.deviation, static_cast<std::int64_t>(chain.blocks.size()));
  chain.compute_bytes = element_bytes(training.precision);
  return build_chain(chain);
}

}  // namespace pptrain
