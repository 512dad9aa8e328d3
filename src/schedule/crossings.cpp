#include "schedule/crossings.hpp"

namespace pptrain {
namespace {

void add_receives(Crossing& crossing, const PassageEnds& ends, DeviceId device, Place place,
                  Payload payload) {
  ends.for_each_to(device, [&](const Message& message) {
    if (message.from == device) return;
    crossing.receives.push_back(
        {Op::post_receive, place, payload, message.from, message.interval, ends.passage().units});
  });
}

void add_sends(Crossing& crossing, const PassageEnds& ends, DeviceId device, Place place,
               Payload payload) {
  ends.for_each_from(device, [&](const Message& message) {
    const Op op = message.to == device ? Op::hand_over : Op::send;
    crossing.sends.push_back(
        {op, place, payload, message.to, message.interval, ends.passage().units});
  });
}

/// `whole`: what all `num_devices` that need the same gather once each has its slice.
void add_gather(Crossing& crossing, const Passage& passage, Place place, Payload payload,
                Interval whole, int num_devices) {
  if (passage.form == TransferForm::whole || num_devices == 1) return;
  const Interval interval = {whole.begin * passage.units, whole.end * passage.units};
  crossing.gathers.push_back({Op::gather_received, place, payload, {}, interval, passage.units});
}

}  // namespace

PassageEnds::PassageEnds(Passage passage) : passage_(std::move(passage)) {
  for (int i = 0; i < static_cast<int>(passage_.messages.size()); ++i) {
    const Message& message = passage_.messages[static_cast<std::size_t>(i)];
    by_sender_.emplace_back(message.from, i);
    by_receiver_.emplace_back(message.to, i);
  }
  std::sort(by_sender_.begin(), by_sender_.end());
  std::sort(by_receiver_.begin(), by_receiver_.end());
}

Crossings::Crossings(const Plan& plan, const std::vector<ChunkPlace>& places,
                     const CompileOptions& options)
    : plan_(plan),
      places_(places),
      options_(options),
      ends_(pptrain::tie_ends(plan, options.ties)) {
  for (const Stage& stage : plan.stages) parts_.emplace_back(stage);
}

const Mesh& Crossings::entry_of(int chunk) const {
  const ChunkPlace& place = places_[static_cast<std::size_t>(chunk)];
  return parts_[place.stage.index()].mesh_at(place.layers.begin);
}

const Mesh& Crossings::exit_of(int chunk) const {
  const ChunkPlace& place = places_[static_cast<std::size_t>(chunk)];
  return parts_[place.stage.index()].mesh_at(place.layers.end - 1);
}

const PassageEnds& Crossings::across(Payload payload, int cut) {
  const bool forwards = payload == Payload::activation;
  const Mesh& before = exit_of(cut);
  const Mesh& after = entry_of(cut + 1);
  const Mesh& sender = forwards ? before : after;
  const Mesh& receiver = forwards ? after : before;
  const CutForms forms = options_.forms.at(cut);
  const TransferForm form = forwards ? forms.activation : forms.gradient;
  const auto [entry, is_new] = passages_.try_emplace({&sender, &receiver, form});
  if (is_new)
    entry->second = PassageEnds(passage(sample_copies(sender), sample_copies(receiver), form));
  return entry->second;
}

const Crossing& Crossings::at(const Program& program, Payload payload, int cut) {
  const auto [entry, is_new] = crossings_.try_emplace({payload, cut, program.device.value});
  Crossing& crossing = entry->second;
  if (!is_new) return crossing;
  const PassageEnds& ends = across(payload, cut);
  const TaskPlace place = {ChunkId(cut), MicroBatchId(0)};
  add_receives(crossing, ends, program.device, place, payload);
  add_sends(crossing, ends, program.device, place, payload);
  if (crossing.receives.empty()) return crossing;
  const Stage& stage = plan_.stages[program.stage.index()];
  add_gather(crossing, ends.passage(), place, payload,
             stage.samples[static_cast<std::size_t>(program.replica)], stage.tensor_parallel);
  return crossing;
}

const PassageEnds& Crossings::tied_to(int end, int from) {
  const auto [entry, is_new] = tied_passages_.try_emplace({end, from});
  if (is_new) {
    const TieEnd& receiver = ends_[static_cast<std::size_t>(end)];
    const TieEnd& sender = ends_[static_cast<std::size_t>(from)];
    const Tie& tie = options_.ties[static_cast<std::size_t>(receiver.tie)];
    entry->second =
        PassageEnds(passage(tie_copies(mesh_of(sender), tie), tie_copies(mesh_of(receiver), tie),
                            options_.forms.of_tie(receiver.tie)));
  }
  return entry->second;
}

Crossing Crossings::tied(const Program& program, int end, int other) {
  const TieEnd& own = ends_[static_cast<std::size_t>(end)];
  const Stage& stage = plan_.stages[program.stage.index()];
  const Mesh& mesh = mesh_of(own);
  const MeshPlace own_place =
      place_in(mesh, program.replica * stage.tensor_parallel + program.shard);
  const Tie& tie = options_.ties[static_cast<std::size_t>(own.tie)];
  const Interval rows = tie_division(mesh, tie)[static_cast<std::size_t>(own_place.shard)];
  const PassageEnds& here = tied_to(end, other);
  Crossing crossing;
  const Payload payload = Payload::tied_gradient;
  add_receives(crossing, here, program.device, TiePlace{end, other}, payload);
  add_gather(crossing, here.passage(), TiePlace{end, other}, payload, rows, mesh.replicas);
  add_sends(crossing, tied_to(other, end), program.device, TiePlace{other, end}, payload);
  return crossing;
}

}  // namespace pptrain
