#include "runtime/execute/sharded_layer.hpp"

namespace pptrain {

void ShardedLayer::acquire(const std::vector<std::size_t>& previous,
                           const std::vector<std::size_t>& next) {
  for (const std::size_t unit : units_.own) shards_.acquire(unit);
  if (previous.empty()) shards_.take_over();
  if (next.empty()) shards_.carry();
  for (const std::size_t unit : next) shards_.prefetch(unit);
}

void ShardedLayer::release() {
  for (const std::size_t unit : units_.own) shards_.release(unit);
}

Tensor ShardedLayer::forward(Batch& batch, Tensor input, SavedPtr* saved) {
  acquire(units_.before, units_.after);
  Tensor output = layer_->forward(batch, std::move(input), saved);
  release();
  shards_.progress();
  return output;
}

Tensor ShardedLayer::backward_input(const Batch& batch, Tensor gradient, Saved& saved) {
  acquire(units_.after, units_.before);
  shards_.enter(chunk_);
  Tensor input_gradient = layer_->backward_input(batch, std::move(gradient), saved);
  release();
  shards_.progress();
  return input_gradient;
}

void ShardedLayer::backward_weight(const Batch& batch, Saved& saved) {
  shards_.enter(chunk_);
  layer_->backward_weight(batch, saved);  // needs no weights
  for (const std::size_t unit : units_.begun) shards_.contribute(unit);
  shards_.progress();
}

}  // namespace pptrain
