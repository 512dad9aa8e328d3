// The executor's tasks: forward and backward passes of a chunk on a micro-batch, part by part and layer by layer.
#include <algorithm>

#include "runtime/execute/executor.hpp"

namespace pptrain {
namespace {

bool reads_decoder_tokens(const Model& model, const PartRole& role, ChunkId chunk) {
  for (std::size_t c = 0; c < role.chunks.size(); ++c) {
    if (role.chunks[c] != chunk) continue;
    for (std::int64_t l = role.layers[c].begin; l < role.layers[c].end; ++l) {
      if (model.layers[static_cast<std::size_t>(l)].reads_decoder_tokens()) return true;
    }
  }
  return false;
}

}  // namespace

/// Reads the samples `own` of a task's micro-batch; `slot_of(s)` says where number s of them goes.
template <class SlotOf>
void Executor::read_samples(const Instruction& task, const Iteration& iteration, Interval own,
                            const SlotOf& slot_of) const {
  const std::int64_t first = task.micro_batch.value * plan_.micro_batch_size + own.begin;
  for (std::int64_t s = 0; s < own.size(); ++s) iteration.samples(first + s, slot_of(static_cast<std::size_t>(s)));
}

/// What the first layer reads, of the samples of the part that it is in.
void Executor::load_inputs(Activation& activation, const Instruction& instruction, const Iteration& iteration) const {
  const Interval own = device_->entry_samples(instruction.chunk);
  const auto samples = static_cast<std::size_t>(own.size());
  Batch& batch = activation.batches.front();
  if (!model_.sample.tokens()) {
    const auto inputs = static_cast<std::size_t>(model_.sample.features);
    float* features = activation.features.host(samples * inputs);
    read_samples(instruction, iteration, own,
                 [=](std::size_t s) { return SampleSlot{.features = features + s * inputs}; });
    batch.features = activation.features.upload(arena_);
    return;
  }
  const auto length = static_cast<std::size_t>(model_.sample.input_tokens());
  const bool has_types = model_.sample.token_types > 0;
  std::uint32_t* tokens = activation.tokens.host(samples * length);
  std::uint32_t* types = has_types ? activation.token_types.host(samples * length) : nullptr;
  read_samples(instruction, iteration, own, [=](std::size_t s) {
    return SampleSlot{.tokens = tokens + s * length, .token_types = has_types ? types + s * length : nullptr};
  });
  batch.tokens = activation.tokens.upload(arena_);
  if (has_types) batch.token_types = activation.token_types.upload(arena_);
}

/// What the loss is computed from, of the samples of the part that it is in: the images that a network should draw, or
/// classes.
void Executor::load_targets(Activation& activation, const Instruction& instruction, const Iteration& iteration) const {
  const Interval own = device_->exit_samples(instruction.chunk);
  const auto samples = static_cast<std::size_t>(own.size());
  Batch& batch = activation.batches.back();
  batch.loss = sums_.loss();
  if (iteration.counted_samples) {
    const std::int64_t first = instruction.micro_batch.value * plan_.micro_batch_size + own.begin;
    batch.counted_samples =
        static_cast<std::size_t>(std::clamp<std::int64_t>(*iteration.counted_samples - first, 0, own.size()));
  }
  if (model_.sample.has_drawing()) {
    const auto pixels = static_cast<std::size_t>(model_.sample.drawing.pixels());
    float* drawings = activation.drawings.host(samples * pixels);
    read_samples(instruction, iteration, own,
                 [=](std::size_t s) { return SampleSlot{.drawing = drawings + s * pixels}; });
    batch.drawings = activation.drawings.upload(arena_);
    return;
  }
  const auto length = static_cast<std::size_t>(model_.sample.rows);
  std::int32_t* targets = activation.targets.host(samples * length);
  read_samples(instruction, iteration, own, [=](std::size_t s) { return SampleSlot{.targets = targets + s * length}; });
  batch.targets = activation.targets.upload(arena_);
}

/// Where documents begin, of the samples of each part: attention is in layers of every chunk.
void Executor::load_documents(Activation& activation, const Instruction& instruction,
                              const Iteration& iteration) const {
  if (!iteration.needs_documents) return;
  const std::vector<PartModel*>& parts = device_->parts_of(instruction.chunk);
  const auto length = static_cast<std::size_t>(model_.sample.rows);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Interval own = parts[p]->role().samples();
    DeviceCopy<std::int32_t>& documents = activation.documents.emplace_back();
    std::int32_t* begins = documents.host(static_cast<std::size_t>(own.size()) * length);
    read_samples(instruction, iteration, own,
                 [=](std::size_t s) { return SampleSlot{.document_begin = begins + s * length}; });
    activation.batches[p].document_begin = documents.upload(arena_);
  }
}

/// Where padding begins, of the samples of each part: attention is in layers of every chunk.
void Executor::load_lengths(Activation& activation, const Instruction& instruction, const Iteration& iteration) const {
  if (!iteration.has_padding) return;
  const std::vector<PartModel*>& parts = device_->parts_of(instruction.chunk);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Interval own = parts[p]->role().samples();
    DeviceCopy<std::int32_t>& lengths = activation.input_lengths.emplace_back();
    std::int32_t* of_samples = lengths.host(static_cast<std::size_t>(own.size()));
    read_samples(instruction, iteration, own,
                 [=](std::size_t s) { return SampleSlot{.input_length = of_samples + s}; });
    activation.batches[p].input_lengths = lengths.upload(arena_);
  }
}

/// What the decoder is told, for the parts of which a layer reads it.
void Executor::load_decoder_tokens(Activation& activation, const Instruction& instruction,
                                   const Iteration& iteration) const {
  if (!model_.sample.has_source()) return;
  const std::vector<PartModel*>& parts = device_->parts_of(instruction.chunk);
  const auto length = static_cast<std::size_t>(model_.sample.rows);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (!reads_decoder_tokens(model_, parts[p]->role(), instruction.chunk)) continue;
    const Interval own = parts[p]->role().samples();
    DeviceCopy<std::uint32_t>& decoder = activation.decoder_tokens.emplace_back();
    std::uint32_t* tokens = decoder.host(static_cast<std::size_t>(own.size()) * length);
    read_samples(instruction, iteration, own,
                 [=](std::size_t s) { return SampleSlot{.decoder_tokens = tokens + s * length}; });
    activation.batches[p].decoder_tokens = decoder.upload(arena_);
  }
}

/// At the last layer of a task: what the next one begins with comes back beside it.
void Executor::fetch_for_next(const Instruction& task) {
  if (!offload_ || next_task_ == nullptr) return;
  if (next_task_->op != Op::backward && next_task_->op != Op::backward_input) return;
  if (next_task_->chunk == task.chunk && next_task_->micro_batch == task.micro_batch) return;
  const Activation& next = activations_.at({next_task_->chunk.value, next_task_->micro_batch.value});
  offload_->fetch(*next.saved.back().back());
}

/// Behind a layer's forward. What comes back with the next task at once stays.
void Executor::keep_or_send(const Instruction& task, bool last, Saved& saved) {
  if (!offload_) return;
  offload_->let_go();
  const bool comes_back = last && next_task_ != nullptr && next_task_->op != Op::forward &&
                          next_task_->chunk == task.chunk && next_task_->micro_batch == task.micro_batch;
  if (!comes_back) offload_->send(saved);
}

/// Before the backward pass of layer `layer` of part `part`: its own, and beside it that of the layer that follows.
void Executor::bring_back(const Instruction& task, const Activation& activation, std::size_t part, std::size_t layer) {
  if (!offload_) return;
  offload_->require(*activation.saved[part][layer]);
  if (layer > 0) return offload_->fetch(*activation.saved[part][layer - 1]);
  if (part > 0) return offload_->fetch(*activation.saved[part - 1].back());
  fetch_for_next(task);
}

void Executor::forward(const Instruction& i, const Iteration& iteration, bool keep) {
  const int chunk = i.chunk.value;
  Activation& activation = activations_[{chunk, i.micro_batch.value}];
  result_.peak_stored = std::max(result_.peak_stored, static_cast<int>(activations_.size()));
  const std::vector<PartModel*>& parts = device_->parts_of(i.chunk);
  for (const PartModel* part : parts) {
    Batch& batch = activation.batches.emplace_back();
    batch.samples = static_cast<std::size_t>(part->role().samples().size());
    batch.loss_scale = static_cast<float>(iteration.loss_scale / divisor());
    batch.loss_form = iteration.loss_form;
    if (iteration.dropout_seed) {
      const std::int64_t in_step = i.micro_batch.value * plan_.micro_batch_size + part->role().samples().begin;
      batch.dropout = {*iteration.dropout_seed, iteration.step * plan_.global_batch_size + in_step};
    }
    batch.balance = iteration.loss_scale * iteration.router_aux_loss / global_rows();
    // All devices of the part come to the same.
    if (part->role().replica == 0 && part->role().shard == 0) batch.balance_sum = sums_.balance(i.chunk);
    batch.balance_of_model = model_balance_ != nullptr;
    if (keep && batch.balance_of_model) batch.balance_counts = model_balance_->counts(i.chunk, i.micro_batch);
    if (!keep) batch.use = BatchUse::evaluation;
  }
  if (chunk == 0) load_inputs(activation, i, iteration);
  if (chunk == last_chunk_) load_targets(activation, i, iteration);
  load_documents(activation, i, iteration);
  load_lengths(activation, i, iteration);
  load_decoder_tokens(activation, i, iteration);
  Tensor x = chunk == 0 ? Tensor() : take_input({Payload::activation, chunk - 1, i.micro_batch.value});
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (p > 0) x = device_->between(parts[p]->role().index).forward(std::move(x), device_->reductions());
    activation.saved.emplace_back();
    const auto& layers = parts[p]->layers(i.chunk);
    const std::int64_t first_layer = parts[p]->first_layer(i.chunk);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const bool is_last = p + 1 == parts.size() && l + 1 == layers.size();
      if (is_last && keep) fetch_for_next(i);
      SavedPtr saved;
      Batch& batch = activation.batches[p];
      // Members of a group count the same rows, unless each has its own.
      const PartRole& role = parts[p]->role();
      const bool counts = keep && (role.shard == 0 || role.division == WeightDivision::exchange);
      batch.expert_rows = counts ? expert_loads_.of(first_layer + static_cast<std::int64_t>(l)) : nullptr;
      x = layers[l]->forward(batch, std::move(x), keep ? &saved : nullptr);
      if (keep) keep_or_send(i, is_last, *saved);
      activation.saved.back().push_back(std::move(saved));
    }
  }
  if (keep && model_balance_ != nullptr) model_balance_->send(i.chunk, i.micro_batch);
  if (chunk != last_chunk_) put_output({Payload::activation, chunk, i.micro_batch.value}, std::move(x));
  if (!keep) activations_.erase({chunk, i.micro_batch.value});
}

/// Before a backward pass: what layers have counted in the micro-batch comes from all stages.
void Executor::read_chosen_rows(Activation& activation, MicroBatchId micro_batch) {
  const double* rows =
      model_balance_->chosen_rows(micro_batch, [this](Pending& transfer) { wait_beside_replicas(transfer); });
  for (Batch& batch : activation.batches) batch.chosen_rows = rows;
}

void Executor::backward_input(const Instruction& i, bool with_weight) {
  const int chunk = i.chunk.value;
  Activation& activation = activations_.at({chunk, i.micro_batch.value});
  Tensor gradient = chunk == last_chunk_ ? Tensor() : take_input({Payload::gradient, chunk, i.micro_batch.value});
  if (model_balance_ != nullptr) read_chosen_rows(activation, i.micro_batch);
  const std::vector<PartModel*>& parts = device_->parts_of(i.chunk);
  for (std::size_t p = parts.size(); p-- > 0;) {
    auto& layers = parts[p]->layers(i.chunk);
    const Batch& batch = activation.batches[p];
    for (std::size_t l = layers.size(); l-- > 0;) {
      SavedPtr& saved = activation.saved[p][l];
      bring_back(i, activation, p, l);
      gradient = layers[l]->backward_input(batch, std::move(gradient), *saved);
      if (offload_) offload_->let_go();
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
      if (p == 0 && l == 0) fetch_for_next(i);
      layers[l]->backward_weight(activation.batches[p], *activation.saved[p][l]);
      if (offload_) offload_->let_go();
      activation.saved[p][l].reset();
    }
  }
  activations_.erase({i.chunk.value, i.micro_batch.value});
}

}  // namespace pptrain
