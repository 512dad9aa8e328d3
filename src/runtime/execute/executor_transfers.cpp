// The executor's messages: receives into whole micro-batches, sends of parts of them.
#include <algorithm>

#include "base/error.hpp"
#include "runtime/execute/executor.hpp"

namespace pptrain {

int Executor::tag_of(const Instruction& i) const {
  const std::int64_t kind = static_cast<std::int64_t>(i.payload) * (last_chunk_ + 1) + i.chunk.value;
  // Every message of an iteration has a tag of its own, since a device may receive in another order than its
  // peer sends; beyond the number of tags, far more tasks than anyone runs, order alone tells equal ones apart.
  return static_cast<int>((kind * plan_.micro_batches + i.micro_batch.value) % groups_.transport().num_tags());
}

/// The first part of the first stage or the last part of the last one.
PartModel& Executor::tied_part(ChunkId end) const {
  return end == tied_first ? *device_->parts().front() : *device_->parts().back();
}

/// Rows of the shared parameter that the part at this end holds.
Interval Executor::tied_rows(ChunkId end) const { return tied_part(end).context().part(ShardAxis::vocabulary); }

/// The samples that this device has at the cut, or needs there; for a tied gradient the rows of the shared parameter.
Interval Executor::held(const Instruction& i) const {
  const bool leaves = i.op == Op::send;
  if (i.payload == Payload::tied_gradient) return tied_rows(leaves ? other_end(i.chunk) : i.chunk);
  const bool before_cut = (i.payload == Payload::activation) == leaves;
  return before_cut ? device_->exit_samples(i.chunk) : device_->entry_samples(ChunkId(i.chunk.value + 1));
}

/// What one sample at a cut is, or one row of the shared parameter.
Port Executor::unit_of(const Instruction& i) const {
  if (i.payload == Payload::tied_gradient) return {1, model_.shared_parameter()->shape[1]};
  return cut_ports_[static_cast<std::size_t>(i.chunk.value)];
}

/// Elements of `interval`, counted within the tensor that holds the samples or rows `held`.
Interval Executor::elements_of(const Instruction& i, Interval interval, Interval held) const {
  const std::int64_t of_one = unit_of(i).elements();
  const std::int64_t first = held.begin * of_one;
  return {interval.begin * of_one / i.units - first, interval.end * of_one / i.units - first};
}

/// The tensor in which the parts of a message come together; it is made, with room for all of them, by the first one.
Executor::Incoming& Executor::incoming_of(const Instruction& i) {
  Incoming& incoming = incoming_[{i.payload, i.chunk.value, i.micro_batch.value}];
  const Port unit = unit_of(i);
  if (!incoming.data) {
    incoming.data =
        Tensor(arena_, static_cast<std::size_t>(held(i).size() * unit.rows), static_cast<std::size_t>(unit.columns));
  }
  return incoming;
}

void Executor::post_receive(const Instruction& i) {
  Incoming& incoming = incoming_of(i);
  const Interval part = elements_of(i, i.interval, held(i));
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
  Communicator& group = i.payload == Payload::tied_gradient ? groups.replicas() : groups.tensor();
  std::vector<Interval> slices;
  for (const Interval& part : even_division(i.interval.size(), group.size())) {
    slices.push_back(elements_of(i, {i.interval.begin + part.begin, i.interval.begin + part.end}, held(i)));
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
  std::shared_ptr<Tensor> data;
  const Interval part = elements_of(i, i.interval, held(i));
  const auto size = static_cast<std::size_t>(part.size());
  const float* first = nullptr;
  if (i.payload == Payload::tied_gradient) {
    // A copy: the gradient itself changes as soon as the other end's part has come.
    PartModel& from = tied_part(other_end(i.chunk));
    data = std::make_shared<Tensor>(arena_, 1, size);
    arena_.device().copy(data->f32(), from.parameters().gradient_matrix(from.tied_parameter()).f32() + part.begin,
                         size * sizeof(float));
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
  if (i.payload == Payload::tied_gradient) {
    PartModel& from = tied_part(other_end(i.chunk));
    const Interval there = elements_of(i, i.interval, tied_rows(other_end(i.chunk)));
    const Interval here = elements_of(i, i.interval, tied_rows(i.chunk));
    arena_.device().copy(incoming_of(i).data.f32() + here.begin,
                         from.parameters().gradient_matrix(from.tied_parameter()).f32() + there.begin,
                         static_cast<std::size_t>(there.size()) * sizeof(float));
    return;
  }
  PPTRAIN_ASSERT(output_key_ == BoundaryKey(i.payload, i.chunk.value, i.micro_batch.value),
                 "\"{}\" does not follow its task", to_string(i));
  incoming_[output_key_].data = repartitioned(i, std::move(*output_));
}

/// The neighbouring chunk may begin, or end, in another division than this one ends, or begins.
Tensor Executor::repartitioned(const Instruction& i, Tensor x) const {
  const PartModel& before = *device_->parts_of(i.chunk).back();
  const PartModel& after = *device_->parts_of(ChunkId(i.chunk.value + 1)).front();
  if (&before == &after) return x;
  const Repartition& between = device_->between(after.role().index);
  return i.payload == Payload::activation ? between.forward(std::move(x), device_->reductions())
                                          : between.backward(std::move(x), device_->reductions());
}

void Executor::release_sent() {
  outgoing_.remove_if([](Outgoing& outgoing) { return outgoing.pending->test(); });
}

void Executor::add_tied_gradients(ChunkId end) {
  Incoming& incoming = incoming_.at({Payload::tied_gradient, end.value, 0});
  PartModel& part = tied_part(end);
  const Matrix gradient = part.parameters().gradient_matrix(part.tied_parameter());
  kernels_.add(incoming.data.f32(), gradient.f32(), gradient.size());
  incoming_.erase({Payload::tied_gradient, end.value, 0});
  part.shards().scatter_gradients(part.tied_unit());
}

}  // namespace pptrain
