// The executor's tasks: forward and backward passes of a chunk on a micro-batch, part by part and
// layer by layer.
#include <algorithm>

#include "runtime/execute/executor.hpp"

namespace pptrain {

/// At the last layer of a task: what the next one begins with comes back beside it.
void Executor::fetch_for_next(const Instruction& task) {
  if (!offload_ || next_task_ == nullptr) return;
  if (next_task_->op != Op::backward && next_task_->op != Op::backward_input) return;
  if (next_task_->chunk() == task.chunk() && next_task_->micro_batch() == task.micro_batch())
    return;
  const StoredTask& next = stored_.at({next_task_->chunk().value, next_task_->micro_batch().value});
  offload_->fetch(*next.saved.back().back());
}

/// Behind a layer's forward. What comes back with the next task at once stays.
void Executor::keep_or_send(const Instruction& task, bool last, Saved& saved) {
  if (!offload_) return;
  offload_->let_go();
  const bool comes_back = last && next_task_ != nullptr && next_task_->op != Op::forward &&
                          next_task_->chunk() == task.chunk() &&
                          next_task_->micro_batch() == task.micro_batch();
  if (!comes_back) offload_->send(saved);
}

/// Before the backward pass of layer `layer` of part `part`: its own, and beside it that of the
/// layer that follows.
void Executor::bring_back(const Instruction& task, const StoredTask& stored, std::size_t part,
                          std::size_t layer) {
  if (!offload_) return;
  offload_->require(*stored.saved[part][layer]);
  if (layer > 0) return offload_->fetch(*stored.saved[part][layer - 1]);
  if (part > 0) return offload_->fetch(*stored.saved[part - 1].back());
  fetch_for_next(task);
}

void Executor::forward(const Instruction& i, const Iteration& iteration, bool keep) {
  const int chunk = i.chunk().value;
  StoredTask& stored = stored_[{chunk, i.micro_batch().value}];
  result_.peak_stored = std::max(result_.peak_stored, static_cast<int>(stored_.size()));
  const std::vector<PartModel*>& parts = parts_.device->parts_of(i.chunk());
  for (const PartModel* part : parts) {
    Batch& batch = stored.batches.emplace_back();
    batch.samples = static_cast<std::size_t>(part->role().samples().size());
    batch.loss_scale = static_cast<float>(iteration.loss_scale / divisor());
    batch.loss_form = iteration.loss_form;
    if (iteration.dropout_seed) {
      const std::int64_t in_step =
          i.micro_batch().value * parts_.plan.micro_batch_size + part->role().samples().begin;
      batch.dropout = {*iteration.dropout_seed,
                       iteration.step * parts_.plan.global_batch_size + in_step};
    }
    batch.balance = iteration.loss_scale * iteration.router_aux_loss / global_rows();
    // All devices of the part come to the same.
    if (part->role().replica == 0 && part->role().shard == 0)
      batch.balance_sum = sums_.balance(i.chunk());
    batch.balance_of_model = parts_.model_balance != nullptr;
    if (keep && batch.balance_of_model)
      batch.balance_counts = parts_.model_balance->counts(i.chunk(), i.micro_batch());
    if (!keep) batch.use = BatchUse::evaluation;
  }
  if (chunk == 0) samples_.load_inputs(stored, i, iteration);
  if (chunk == last_chunk_) samples_.load_targets(stored, i, iteration, sums_.loss());
  samples_.load_beside(stored, i, iteration);
  Tensor x = chunk == 0 ? Tensor()
                        : messages_.take_input({Payload::activation,
                                                TaskPlace{ChunkId(chunk - 1), i.micro_batch()}});
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (p > 0)
      x = parts_.device->between(parts[p]->role().index)
              .forward(std::move(x), parts_.device->reductions());
    stored.saved.emplace_back();
    const auto& layers = parts[p]->layers(i.chunk());
    const std::int64_t first_layer = parts[p]->first_layer(i.chunk());
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const bool is_last = p + 1 == parts.size() && l + 1 == layers.size();
      if (is_last && keep) fetch_for_next(i);
      SavedPtr saved;
      Batch& batch = stored.batches[p];
      // Members of a group count the same rows, unless each has its own.
      const PartRole& role = parts[p]->role();
      const bool counts = keep && (role.shard == 0 || role.division == WeightDivision::exchange);
      batch.expert_rows =
          counts ? expert_loads_.of(first_layer + static_cast<std::int64_t>(l)) : nullptr;
      x = layers[l]->forward(batch, std::move(x), keep ? &saved : nullptr);
      if (keep) keep_or_send(i, is_last, *saved);
      stored.saved.back().push_back(std::move(saved));
    }
  }
  if (keep && parts_.model_balance != nullptr)
    parts_.model_balance->send(i.chunk(), i.micro_batch());
  if (chunk != last_chunk_) messages_.put_output({Payload::activation, i.place}, std::move(x));
  if (!keep) stored_.erase({chunk, i.micro_batch().value});
}

/// Before a backward pass: what layers have counted in the micro-batch comes from all stages.
void Executor::read_chosen_rows(StoredTask& stored, MicroBatchId micro_batch) {
  const double* rows = parts_.model_balance->chosen_rows(
      micro_batch, [this](Pending& transfer) { messages_.wait(transfer); });
  for (Batch& batch : stored.batches) batch.chosen_rows = rows;
}

void Executor::backward_input(const Instruction& i, bool with_weight) {
  const int chunk = i.chunk().value;
  StoredTask& stored = stored_.at({chunk, i.micro_batch().value});
  Tensor gradient =
      chunk == last_chunk_ ? Tensor() : messages_.take_input({Payload::gradient, i.place});
  if (parts_.model_balance != nullptr) read_chosen_rows(stored, i.micro_batch());
  const std::vector<PartModel*>& parts = parts_.device->parts_of(i.chunk());
  for (std::size_t p = parts.size(); p-- > 0;) {
    auto& layers = parts[p]->layers(i.chunk());
    const Batch& batch = stored.batches[p];
    for (std::size_t l = layers.size(); l-- > 0;) {
      SavedPtr& saved = stored.saved[p][l];
      bring_back(i, stored, p, l);
      gradient = layers[l]->backward_input(batch, std::move(gradient), *saved);
      if (offload_) offload_->let_go();
      if (!with_weight) continue;
      layers[l]->backward_weight(batch, *saved);
      saved.reset();
    }
    if (p > 0)
      gradient = parts_.device->between(parts[p]->role().index)
                     .backward(std::move(gradient), parts_.device->reductions());
  }
  if (chunk != 0)
    messages_.put_output({Payload::gradient, TaskPlace{ChunkId(chunk - 1), i.micro_batch()}},
                         std::move(gradient));
  if (with_weight) stored_.erase({chunk, i.micro_batch().value});
}

void Executor::backward_weight(const Instruction& i) {
  StoredTask& stored = stored_.at({i.chunk().value, i.micro_batch().value});
  const std::vector<PartModel*>& parts = parts_.device->parts_of(i.chunk());
  for (std::size_t p = parts.size(); p-- > 0;) {
    auto& layers = parts[p]->layers(i.chunk());
    for (std::size_t l = layers.size(); l-- > 0;) {
      if (p == 0 && l == 0) fetch_for_next(i);
      layers[l]->backward_weight(stored.batches[p], *stored.saved[p][l]);
      if (offload_) offload_->let_go();
      stored.saved[p][l].reset();
    }
  }
  stored_.erase({i.chunk().value, i.micro_batch().value});
}

}  // namespace pptrain
