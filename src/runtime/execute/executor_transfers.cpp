// The executor's messages: receives into whole micro-batches, sends of parts of them.
#include <algorithm>

#include "base/error.hpp"
#include "kernels/kernels.hpp"
#include "runtime/execute/executor.hpp"

namespace pptrain {

int Executor::tag_of(const Instruction& i) const {
  const std::int64_t kind = static_cast<std::int64_t>(i.payload) * (last_chunk_ + 1) + i.chunk.value;
  // Every message of an iteration has a tag of its own, since a device may receive in another order than its
  // peer sends; beyond the number of tags, far more tasks than anyone runs, order alone tells equal ones apart.
  return static_cast<int>((kind * plan_.micro_batches + i.micro_batch.value) % groups_.transport().num_tags());
}

std::size_t Executor::tied_parameter() const {
  const auto& parameters = device_->parameters().parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].spec.name == "wte.weight") return i;
  }
  PPTRAIN_ASSERT(false, "no shared parameter on this device");
  return 0;
}

std::size_t Executor::tied_unit() const { return device_->parameters().parameters()[tied_parameter()].unit; }

Interval Executor::held(const Instruction& i) const {
  if (i.payload == Payload::tied_gradient) return device_->only().context().part(ShardAxis::vocabulary);
  // Activations leave and gradients come at the last part, the others at the first.
  const bool leaves = i.op == Op::send;
  return (i.payload == Payload::activation) == leaves ? exit_samples_ : entry_samples_;
}

/// Of the tensor that holds all of what this device has or needs.
Interval Executor::elements_of(const Instruction& i, Interval interval) const {
  const bool is_tied = i.payload == Payload::tied_gradient;
  const std::int64_t of_one = model_.hidden_size * (is_tied ? 1 : model_.sequence_length);
  const std::int64_t first = held(i).begin * of_one;
  return {interval.begin * of_one / i.units - first, interval.end * of_one / i.units - first};
}

void Executor::post_receive(const Instruction& i) {
  Incoming& incoming = incoming_[{i.payload, i.chunk.value, i.micro_batch.value}];
  const std::size_t rows = i.payload == Payload::tied_gradient ? 1 : static_cast<std::size_t>(model_.sequence_length);
  if (!incoming.data) {
    incoming.data =
        Tensor(arena_, static_cast<std::size_t>(held(i).size()) * rows, static_cast<std::size_t>(model_.hidden_size));
  }
  const Interval part = elements_of(i, i.interval);
  incoming.parts[i.interval.begin] =
      groups_.transport().receive(map_.rank_of(i.peer), tag_of(i), incoming.data.f32() + part.begin,
                                  static_cast<std::size_t>(part.size()) * sizeof(float));
}

/// What was started between the replicas goes on.
void Executor::wait_beside_replicas(Pending& transfer) {
  PendingBeside pending(transfer, [this] { device_->progress(); });
  waiter_.wait(pending, [] { return std::string(); });
}

void Executor::wait_receive(const Instruction& i) {
  Incoming& incoming = incoming_.at({i.payload, i.chunk.value, i.micro_batch.value});
  wait_beside_replicas(*incoming.parts.at(i.interval.begin));
}

void Executor::gather_received(const Instruction& i) {
  Incoming& incoming = incoming_.at({i.payload, i.chunk.value, i.micro_batch.value});
  PartGroups& groups = device_->only().groups();
  Communicator& group = i.payload == Payload::tied_gradient ? groups.data() : groups.tensor();
  std::vector<Interval> slices;
  for (const Interval& part : even_division(i.interval.size(), group.size())) {
    slices.push_back(elements_of(i, {i.interval.begin + part.begin, i.interval.begin + part.end}));
  }
  const PendingPtr gather = group.start_all_gather(incoming.data.f32(), slices);
  wait_beside_replicas(*gather);
}

Tensor Executor::take_input(const BoundaryKey& key) {
  const auto entry = incoming_.find(key);
  Tensor data = std::move(entry->second.data);
  incoming_.erase(entry);
  return data;
}

void Executor::put_output(const BoundaryKey& key, Tensor output) {
  output_key_ = key;
  output_ = std::make_shared<Tensor>(std::move(output));
}

void Executor::send(const Instruction& i) {
  const Interval part = elements_of(i, i.interval);
  const auto size = static_cast<std::size_t>(part.size());
  std::shared_ptr<Tensor> data;
  const float* first = nullptr;
  if (i.payload == Payload::tied_gradient) {
    // A copy: the gradient itself changes as soon as the other stage's part has come.
    data = std::make_shared<Tensor>(arena_, 1, size);
    std::copy_n(device_->parameters().gradient_matrix(tied_parameter()).f32() + part.begin, size, data->f32());
    first = data->f32();
  } else {
    PPTRAIN_ASSERT(output_key_ == BoundaryKey(i.payload, i.chunk.value, i.micro_batch.value),
                   "\"{}\" does not follow its task", to_string(i));
    data = output_;
    first = data->f32() + part.begin;
  }
  outgoing_.push_back({data, groups_.transport().send(map_.rank_of(i.peer), tag_of(i), first, size * sizeof(float))});
}

void Executor::hand_over(const Instruction& i) {
  PPTRAIN_ASSERT(output_key_ == BoundaryKey(i.payload, i.chunk.value, i.micro_batch.value),
                 "\"{}\" does not follow its task", to_string(i));
  incoming_[output_key_].data = std::move(*output_);
}

void Executor::release_sent() {
  outgoing_.remove_if([](Outgoing& outgoing) { return outgoing.pending->test(); });
}

void Executor::add_tied_gradients(ChunkId chunk) {
  Incoming& incoming = incoming_.at({Payload::tied_gradient, chunk.value, 0});
  const Matrix gradient = device_->parameters().gradient_matrix(tied_parameter());
  kernels::add(incoming.data.f32(), gradient.f32(), gradient.size());
  incoming_.erase({Payload::tied_gradient, chunk.value, 0});
  device_->only().shards().scatter_gradients(tied_unit());
}

}  // namespace pptrain
