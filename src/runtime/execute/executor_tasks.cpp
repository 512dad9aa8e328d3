// The executor's tasks: forward and backward passes of a chunk on a micro-batch, part by part and layer by layer.
#include <algorithm>

#include "runtime/execute/executor.hpp"

namespace pptrain {

/// What the first layer reads, of the samples of the part that it is in.
void Executor::load_inputs(Activation& activation, const Instruction& instruction, const Iteration& iteration) const {
  const Interval own = device_->entry_samples(instruction.chunk);
  const auto samples = static_cast<std::size_t>(own.size());
  const auto length = static_cast<std::size_t>(model_.sequence_length);
  const auto inputs = static_cast<std::size_t>(model_.inputs);
  std::uint16_t* tokens = inputs == 0 ? activation.tokens.host(samples * length) : nullptr;
  float* features = inputs == 0 ? nullptr : activation.features.host(samples * inputs);
  const std::int64_t first = instruction.micro_batch.value * plan_.micro_batch_size + own.begin;
  for (std::size_t s = 0; s < samples; ++s) {
    SampleSlot slot;
    if (inputs == 0) {
      slot.tokens = tokens + s * length;
    } else {
      slot.features = features + s * inputs;
    }
    iteration.samples(first + static_cast<std::int64_t>(s), slot);
  }
  Batch& batch = activation.batches.front();
  if (inputs == 0) {
    batch.tokens = activation.tokens.upload(arena_);
  } else {
    batch.features = activation.features.upload(arena_);
  }
}

/// What the loss is computed from, likewise.
void Executor::load_targets(Activation& activation, const Instruction& instruction, const Iteration& iteration) const {
  const Interval own = device_->exit_samples(instruction.chunk);
  const auto samples = static_cast<std::size_t>(own.size());
  const auto length = static_cast<std::size_t>(model_.sequence_length);
  std::int32_t* targets = activation.targets.host(samples * length);
  const std::int64_t first = instruction.micro_batch.value * plan_.micro_batch_size + own.begin;
  for (std::size_t s = 0; s < samples; ++s) {
    iteration.samples(first + static_cast<std::int64_t>(s), {nullptr, targets + s * length, nullptr});
  }
  activation.batches.back().targets = activation.targets.upload(arena_);
  activation.batches.back().loss = sums_.loss();
}

void Executor::forward(const Instruction& i, const Iteration& iteration, bool keep) {
  const int chunk = i.chunk.value;
  Activation& activation = activations_[{chunk, i.micro_batch.value}];
  result_.peak_stored = std::max(result_.peak_stored, static_cast<int>(activations_.size()));
  const std::vector<PartModel*>& parts = device_->parts_of(i.chunk);
  for (const PartModel* part : parts) {
    Batch& batch = activation.batches.emplace_back();
    batch.samples = static_cast<std::size_t>(part->role().samples().size());
    batch.loss_scale = static_cast<float>(iteration.loss_scale /
                                          static_cast<double>(plan_.global_batch_size * model_.sequence_length));
  }
  if (chunk == 0) load_inputs(activation, i, iteration);
  if (chunk == last_chunk_) load_targets(activation, i, iteration);
  Tensor x = chunk == 0 ? Tensor() : take_input({Payload::activation, chunk - 1, i.micro_batch.value});
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (p > 0) x = device_->between(parts[p]->role().index).forward(std::move(x), device_->reductions());
    activation.saved.emplace_back();
    for (const auto& layer : parts[p]->layers(i.chunk)) {
      SavedPtr saved;
      x = layer->forward(activation.batches[p], std::move(x), keep ? &saved : nullptr);
      activation.saved.back().push_back(std::move(saved));
    }
  }
  if (chunk != last_chunk_) put_output({Payload::activation, chunk, i.micro_batch.value}, std::move(x));
  if (!keep) activations_.erase({chunk, i.micro_batch.value});
}

void Executor::backward_input(const Instruction& i, bool with_weight) {
  const int chunk = i.chunk.value;
  Activation& activation = activations_.at({chunk, i.micro_batch.value});
  Tensor gradient = chunk == last_chunk_ ? Tensor() : take_input({Payload::gradient, chunk, i.micro_batch.value});
  const std::vector<PartModel*>& parts = device_->parts_of(i.chunk);
  for (std::size_t p = parts.size(); p-- > 0;) {
    auto& layers = parts[p]->layers(i.chunk);
    const Batch& batch = activation.batches[p];
    for (std::size_t l = layers.size(); l-- > 0;) {
      SavedPtr& saved = activation.saved[p][l];
      gradient = layers[l]->backward_input(batch, std::move(gradient), *saved);
      if (!with_weight) continue;
      layers[l]->backward_weight(batch, *saved);
      saved.reset();
    }
    if (p > 0) gradient = device_->between(parts[p]->role().index).backward(std::move(gradient), device_->reductions());
  }
  if (chunk != 0) put_output({Payload::gradient, chunk - 1, i.micro_batch.value}, std::move(gradient));
  if (with_weight) activations_.erase({chunk, i.micro_batch.value});
}

void Executor::backward_weight(const Instruction& i) {
  Activation& activation = activations_.at({i.chunk.value, i.micro_batch.value});
  const std::vector<PartModel*>& parts = device_->parts_of(i.chunk);
  for (std::size_t p = parts.size(); p-- > 0;) {
    auto& layers = parts[p]->layers(i.chunk);
    for (std::size_t l = layers.size(); l-- > 0;) {
      layers[l]->backward_weight(activation.batches[p], *activation.saved[p][l]);
      activation.saved[p][l].reset();
    }
  }
  activations_.erase({i.chunk.value, i.micro_batch.value});
}

}  // namespace pptrain
