#include "schedule/crossings.hpp"

namespace pptrain {
namespace {

void add_receives(Crossing& crossing, const Passage& passage, DeviceId device, ChunkId chunk, Payload payload) {
  for (const Message& message : passage.messages) {
    if (message.to != device || message.from == device) continue;
    crossing.receives.push_back(
        {Op::post_receive, chunk, MicroBatchId(0), payload, message.from, message.interval, passage.units});
  }
}

void add_sends(Crossing& crossing, const Passage& passage, DeviceId device, ChunkId chunk, Payload payload) {
  for (const Message& message : passage.messages) {
    if (message.from != device) continue;
    const Op op = message.to == device ? Op::hand_over : Op::send;
    crossing.sends.push_back({op, chunk, MicroBatchId(0), payload, message.to, message.interval, passage.units});
  }
}

/// `whole`: what all `num_devices` that need the same gather once each has its slice.
void add_gather(Crossing& crossing, const Passage& passage, ChunkId chunk, Payload payload, Interval whole,
                int num_devices) {
  if (passage.form == TransferForm::whole || num_devices == 1) return;
  const Interval interval = {whole.begin * passage.units, whole.end * passage.units};
  crossing.gathers.push_back({Op::gather_received, chunk, MicroBatchId(0), payload, {}, interval, passage.units});
}

}  // namespace

Crossings::Crossings(const Plan& plan, const std::vector<ChunkPlace>& places, const TransferForms& forms)
    : plan_(plan), places_(places), forms_(forms) {
  for (const Stage& stage : plan.stages) parts_.emplace_back(stage);
}

const Stage& Crossings::entry_of(int chunk) const {
  const ChunkPlace& place = places_[static_cast<std::size_t>(chunk)];
  return parts_[place.stage.index()].mesh_at(place.layers.begin);
}

const Stage& Crossings::exit_of(int chunk) const {
  const ChunkPlace& place = places_[static_cast<std::size_t>(chunk)];
  return parts_[place.stage.index()].mesh_at(place.layers.end - 1);
}

const Passage& Crossings::across(Payload payload, int cut) {
  const auto [entry, is_new] = passages_.try_emplace({payload, cut});
  if (is_new) {
    const bool forwards = payload == Payload::activation;
    const std::vector<EqualCopies> before = sample_copies(exit_of(cut));
    const std::vector<EqualCopies> after = sample_copies(entry_of(cut + 1));
    const CutForms forms = forms_.at(cut);
    entry->second = forwards ? passage(before, after, forms.activation) : passage(after, before, forms.gradient);
  }
  return entry->second;
}

const Crossing& Crossings::at(const Program& program, Payload payload, int cut) {
  const auto [entry, is_new] = crossings_.try_emplace({payload, cut, program.device.value});
  Crossing& crossing = entry->second;
  if (!is_new) return crossing;
  const Passage& passage = across(payload, cut);
  add_receives(crossing, passage, program.device, ChunkId(cut), payload);
  add_sends(crossing, passage, program.device, ChunkId(cut), payload);
  if (crossing.receives.empty()) return crossing;
  const Stage& stage = plan_.stages[program.stage.index()];
  add_gather(crossing, passage, ChunkId(cut), payload, stage.samples[static_cast<std::size_t>(program.replica)],
             stage.tensor_parallel);
  return crossing;
}

const Passage& Crossings::tied_to(ChunkId end, std::int64_t vocabulary_size) {
  const auto [entry, is_new] = passages_.try_emplace({Payload::tied_gradient, end.value});
  if (is_new) {
    entry->second = passage(vocabulary_copies(mesh_of(other_end(end)), vocabulary_size),
                            vocabulary_copies(mesh_of(end), vocabulary_size), forms_.tied);
  }
  return entry->second;
}

bool Crossings::ends_are_one() const {
  const ChunkPlace& first = places_.front();
  const ChunkPlace& last = places_.back();
  if (first.stage != last.stage) return false;
  const StageParts& parts = parts_[first.stage.index()];
  return &parts.part_at(first.layers.begin) == &parts.part_at(last.layers.end - 1);
}

std::vector<ChunkId> Crossings::tied_ends(const Program& program) const {
  std::vector<ChunkId> ends;
  if (ends_are_one()) return ends;
  if (program.stage == places_.front().stage) ends.push_back(tied_first);
  if (program.stage == places_.back().stage) ends.push_back(tied_last);
  return ends;
}

Crossing Crossings::tied(const Program& program, ChunkId end, std::int64_t vocabulary_size) {
  const Stage& stage = plan_.stages[program.stage.index()];
  const Stage& mesh = mesh_of(end);
  const MeshPlace place = place_in(mesh, program.replica * stage.tensor_parallel + program.shard);
  const Interval rows = vocabulary_division(mesh, vocabulary_size)[static_cast<std::size_t>(place.shard)];
  const Passage& here = tied_to(end, vocabulary_size);
  Crossing crossing;
  add_receives(crossing, here, program.device, end, Payload::tied_gradient);
  add_sends(crossing, tied_to(other_end(end), vocabulary_size), program.device, other_end(end), Payload::tied_gradient);
  add_gather(crossing, here, end, Payload::tied_gradient, rows, mesh.replicas);
  return crossing;
}

}  // namespace pptrain
