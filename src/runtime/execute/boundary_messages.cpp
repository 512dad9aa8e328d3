#include "runtime/execute/boundary_messages.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

BoundaryMessages::BoundaryMessages(const ExecutorParts& parts)
    : parts_(parts), ends_(tie_ends(parts.plan, parts.ties)) {
  for (const ChunkPlace& place : chunk_places(parts.plan)) {
    if (place.layers.end < parts.model.num_layers())
      cut_ports_.push_back(
          parts.model.boundary_behind(static_cast<int>(place.layers.end) - 1).packed());
  }
}

int BoundaryMessages::tag_of(const Instruction& i) const {
  const auto num_chunks = static_cast<std::int64_t>(cut_ports_.size()) + 1;
  // Tied gradients come last; of them both ends count.
  const std::int64_t first_of_payload =
      static_cast<std::int64_t>(i.payload) * num_chunks * parts_.plan.micro_batches;
  const std::int64_t within =
      i.is_tied()
          ? i.tie().receiving_end * static_cast<std::int64_t>(ends_.size()) + i.tie().sending_end
          : i.chunk().value * parts_.plan.micro_batches + i.micro_batch().value;
  // Every message of an iteration has a tag of its own, since a device may receive in another order
  // than its peer sends; beyond the number of tags, far more tasks than anyone runs, order alone
  // tells equal ones apart.
  return static_cast<int>((first_of_payload + within) % parts_.groups.transport().num_tags());
}

BoundaryMessages::TiedCopy BoundaryMessages::tied_copy(int end) const {
  const TieEnd& place = ends_[static_cast<std::size_t>(end)];
  PartModel& part = *parts_.device->parts()[static_cast<std::size_t>(place.part)];
  const Tie& tie = parts_.ties[static_cast<std::size_t>(place.tie)];
  const auto shard = static_cast<std::size_t>(part.role().shard);
  return {part, tie, tie_division(part.role().mesh, tie)[shard]};
}

/// The samples that this device has at the cut, or needs there; for a tied gradient rows of the
/// tied parameter.
Interval BoundaryMessages::held(const Instruction& i) const {
  const bool leaves = i.op == Op::send;
  if (i.is_tied()) return tied_copy(leaves ? i.tie().sending_end : i.tie().receiving_end).rows;
  const bool before_cut = (i.payload == Payload::activation) == leaves;
  return before_cut ? parts_.device->exit_samples(i.chunk())
                    : parts_.device->entry_samples(ChunkId(i.chunk().value + 1));
}

/// What one sample at a cut is, or one row of a tied parameter.
Port BoundaryMessages::unit_of(const Instruction& i) const {
  if (i.is_tied()) {
    const Tie& tie = parts_.ties[static_cast<std::size_t>(
        ends_[static_cast<std::size_t>(i.tie().receiving_end)].tie)];
    return {1, std::lround(tie.row_bytes / sizeof(float)), tie.name};
  }
  return cut_ports_[static_cast<std::size_t>(i.chunk().value)];
}

/// Elements of `interval`, counted within the tensor that holds the samples or rows `held`.
Interval BoundaryMessages::elements_of(const Instruction& i, Interval interval,
                                       Interval held) const {
  const std::int64_t of_one = unit_of(i).elements();
  const std::int64_t first = held.begin * of_one;
  return {interval.begin * of_one / i.units - first, interval.end * of_one / i.units - first};
}

/// The tensor in which the parts of a message come together; it is made, with room for all of them,
/// by the first one.
BoundaryMessages::Incoming& BoundaryMessages::incoming_of(const Instruction& i) {
  Incoming& incoming = incoming_[{i.payload, i.place}];
  const Port unit = unit_of(i);
  if (!incoming.data) {
    incoming.data = Tensor(parts_.arena, static_cast<std::size_t>(held(i).size() * unit.rows),
                           static_cast<std::size_t>(unit.columns));
  }
  return incoming;
}

void BoundaryMessages::post_receive(const Instruction& i) {
  Incoming& incoming = incoming_of(i);
  const Interval part = elements_of(i, i.interval, held(i));
  incoming.parts[i.interval.begin] = parts_.groups.transport().receive(
      parts_.map.rank_of(i.peer), tag_of(i), incoming.data.f32() + part.begin,
      static_cast<std::size_t>(part.size()) * sizeof(float));
}

void BoundaryMessages::wait(Pending& transfer) {
  PendingBeside pending(transfer, [this] { parts_.device->progress(); });
  parts_.waiter.wait(pending, [] { return std::string(); });
}

void BoundaryMessages::wait_receive(const Instruction& i) {
  Incoming& incoming = incoming_.at({i.payload, i.place});
  wait(*incoming.parts.at(i.interval.begin));
}

void BoundaryMessages::gather_received(const Instruction& i) {
  Incoming& incoming = incoming_.at({i.payload, i.place});
  PartGroups& groups = parts_.device->only().groups();
  Communicator& group = i.is_tied() ? groups.replicas() : groups.tensor();
  std::vector<Interval> slices;
  for (const Interval& part : even_division(i.interval.size(), group.size())) {
    slices.push_back(
        elements_of(i, {i.interval.begin + part.begin, i.interval.begin + part.end}, held(i)));
  }
  const PendingPtr gather = group.start_all_gather(incoming.data.f32(), slices);
  wait(*gather);
}

Tensor BoundaryMessages::take_input(const Key& key) {
  const auto entry = incoming_.find(key);
  Tensor data = std::move(entry->second.data);
  incoming_.erase(entry);
  return data;
}

void BoundaryMessages::put_output(const Key& key, Tensor output) {
  output_key_ = key;
  output_ = std::make_shared<Tensor>(std::move(output));
}

void BoundaryMessages::send(const Instruction& i) {
  std::shared_ptr<Tensor> data;
  const Interval part = elements_of(i, i.interval, held(i));
  const auto size = static_cast<std::size_t>(part.size());
  const float* first = nullptr;
  if (i.is_tied()) {
    // A copy: the gradient itself changes as soon as the other end's part has come.
    data = std::make_shared<Tensor>(parts_.arena, 1, size);
    parts_.arena.device().copy(data->f32(),
                               tied_copy(i.tie().sending_end).gradient().f32() + part.begin,
                               size * sizeof(float));
    first = data->f32();
  } else {
    PPTRAIN_ASSERT(output_key_ == Key(i.payload, i.place), "\"{}\" does not follow its task",
                   to_string(i));
    data = output_;
    first = data->f32() + part.begin;
  }
  outgoing_.push_back({data, parts_.groups.transport().send(parts_.map.rank_of(i.peer), tag_of(i),
                                                            first, size * sizeof(float))});
}

void BoundaryMessages::hand_over(const Instruction& i) {
  if (i.is_tied()) {
    const TiedCopy from = tied_copy(i.tie().sending_end);
    const Interval there = elements_of(i, i.interval, from.rows);
    const Interval here = elements_of(i, i.interval, held(i));
    parts_.arena.device().copy(incoming_of(i).data.f32() + here.begin,
                               from.gradient().f32() + there.begin,
                               static_cast<std::size_t>(there.size()) * sizeof(float));
    return;
  }
  PPTRAIN_ASSERT(output_key_ == Key(i.payload, i.place), "\"{}\" does not follow its task",
                 to_string(i));
  incoming_[output_key_].data = repartitioned(i, std::move(*output_));
}

/// The neighbouring chunk may begin, or end, in another division than this one ends, or begins.
Tensor BoundaryMessages::repartitioned(const Instruction& i, Tensor x) const {
  const PartModel& before = *parts_.device->parts_of(i.chunk()).back();
  const PartModel& after = *parts_.device->parts_of(ChunkId(i.chunk().value + 1)).front();
  if (&before == &after) return x;
  const Repartition& between = parts_.device->between(after.role().index);
  return i.payload == Payload::activation
             ? between.forward(std::move(x), parts_.device->reductions())
             : between.backward(std::move(x), parts_.device->reductions());
}

void BoundaryMessages::wait_for_sends(const std::function<std::string()>& doing) {
  for (Outgoing& outgoing : outgoing_) parts_.waiter.wait(*outgoing.pending, doing);
  outgoing_.clear();
}

void BoundaryMessages::release_sent() {
  outgoing_.remove_if([](Outgoing& outgoing) { return outgoing.pending->test(); });
}

void BoundaryMessages::add_tied_gradients(int end) {
  const TiedCopy own = tied_copy(end);
  const Matrix gradient = own.gradient();
  std::optional<Tensor> before;  // the sum of the ends before this one
  for (int other = 0; other < static_cast<int>(ends_.size()); ++other) {
    if (other == end && before) parts_.kernels.add(before->f32(), gradient.f32(), gradient.size());
    if (!are_tied(ends_[static_cast<std::size_t>(end)], ends_[static_cast<std::size_t>(other)]))
      continue;
    Tensor coming = take_input({Payload::tied_gradient, TiePlace{end, other}});
    if (other < end && !before) {
      before = std::move(coming);
    } else {
      parts_.kernels.add(coming.f32(), other < end ? before->f32() : gradient.f32(),
                         gradient.size());
    }
  }
  if (is_last_of_unit(end)) own.part.shards().scatter_gradients(own.unit());
}

/// Whether no later end on this device adds to gradients of the same unit.
bool BoundaryMessages::is_last_of_unit(int end) const {
  const TiedCopy own = tied_copy(end);
  for (std::size_t later = static_cast<std::size_t>(end) + 1; later < ends_.size(); ++later) {
    if (ends_[later].stage != parts_.role->stage) continue;
    const TiedCopy other = tied_copy(static_cast<int>(later));
    if (&other.part == &own.part && other.unit() == own.unit()) return false;
  }
  return true;
}

}  // namespace pptrain
