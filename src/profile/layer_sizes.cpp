#include "profile/layer_sizes.hpp"

#include <algorithm>

#include "config/trainer_kinds.hpp"
#include "model/folds/held_bytes.hpp"

namespace pptrain {
namespace {

/// Bytes of a sample that one of `parts` members has of what groups divide by positions alone: all
/// of `gathered`, which is some of it, and its part of the rest.
double by_positions(double whole, double gathered, double parts) {
  const double all = std::min(whole, gathered);
  return all + (whole - all) / parts;
}

/// `gathered`: bytes of a sample that members gather along the positions and keep; `parts`: members
/// that divide these; `logit_bytes`: held of a logit at once.
LayerBytes bytes_of(const PlainBytes& plain, double gathered, double parts, double logit_bytes,
                    int degree, double samples) {
  LayerBytes bytes;
  bytes.stored = samples * (by_positions(plain.whole, gathered, parts) + plain.divided / degree);
  bytes.deferred = bytes.stored;
  bytes.workspace = bytes.forward_workspace =
      samples * std::max(plain.moment, logit_bytes * plain.logits) / degree;
  bytes.recomputed =
      samples * (by_positions(plain.whole_again, gathered, parts) + plain.divided_again / degree);
  return bytes;
}

LayerBytes own_bytes(const LayerBytes& held, double samples) {
  return {samples * held.stored, samples * held.deferred, samples * held.workspace,
          samples * held.forward_workspace, samples * held.recomputed};
}

}  // namespace

LayerSizes::LayerSizes(const Config& config, const RuntimeTraits& runtime, const Model& model,
                       std::size_t number)
    : operators_(model.layers[number].operators),
      element_bytes_(element_bytes(config.training.precision)),
      sequence_parallel_(divides_positions(config)),
      replicas_(static_cast<double>(config.parallelism.context)) {
  const Layer& layer = model.layers[number];
  // pptrain's residual stream, and so what crosses from layer to layer and what groups sum, is
  // fp32.
  const double stream = runtime.own ? 1.0 : element_bytes_ / 4.0;
  layer_.name = layer.name;
  layer_.parameters = static_cast<double>(layer.num_parameters());
  layer_.output_bytes = stream * layer.output_bytes / replicas_;
  layer_.stored_bytes = layer.stored_bytes / replicas_;
  layer_.tensor_parallel_allreduce_bytes =
      stream * layer.tensor_parallel_allreduce_bytes / replicas_;
  layer_.exchange_bytes = layer.exchange_bytes / replicas_;
  layer_.batch_norms = layer.batch_norms;
  layer_.batch_norm_channels = layer.batch_norm_channels;
  // Frameworks make the blocks of a model again, and neither the embedding nor what is behind them.
  layer_.repeated = runtime.own || (number > 0 && number + 1 < model.layers.size());
  if (runtime.own) return;
  plain_ = plain_bytes(
      layer, {element_bytes_, !runtime.fused_attention, runtime.drops_scores, !runtime.fused_gate,
              runtime.moves_positions, runtime.keeps_products && layer_.repeated});
  layer_.stored_bytes = (plain_->whole + plain_->divided) / replicas_;
  gathered_ = runtime.keeps_gathered ? plain_->gathered : 0.0;
  logit_bytes_ = runtime.logit_bytes;
  divided_logit_bytes_ =
      runtime.divided_logit_bytes > 0.0 ? runtime.divided_logit_bytes : runtime.logit_bytes;
}

const LayerBytes& LayerSizes::held_by(int degree) {
  const auto [entry, is_new] = held_.try_emplace(degree);
  if (is_new) entry->second = held_bytes(operators_, element_bytes_, degree);
  return entry->second;
}

LayerBytes LayerSizes::bytes(int degree, double samples) {
  if (!plain_) return own_bytes(held_by(degree), samples);
  const double parts = sequence_parallel_ ? degree : 1.0;
  const double logit_bytes = degree > 1 ? divided_logit_bytes_ : logit_bytes_;
  return bytes_of(*plain_, gathered_, parts, logit_bytes, degree, samples / replicas_);
}

}  // namespace pptrain
