#include "simulate/prices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "simulate/chunk_times.hpp"
#include "simulate/lanes.hpp"
#include "simulate/layer_gathers.hpp"

namespace pptrain {
namespace {

bool splits_backward(const Programs& programs) {
  return std::any_of(programs.begin(), programs.end(), [](const Program& program) {
    return std::any_of(program.instructions.begin(), program.instructions.end(),
                       [](const Instruction& i) { return i.op == Op::backward_input; });
  });
}

void lengthen(TaskPrice& task, double seconds) {
  task.seconds += seconds;
  task.communication += seconds;
}

/// Whether any replica sends to another node what it has for its successors.
bool crosses_nodes(const Cluster& cluster, const Mesh& before, const Mesh& after) {
  const std::vector<Overlap> sends = intersect(before.samples, after.samples);
  return std::any_of(sends.begin(), sends.end(), [&](const Overlap& send) {
    return cluster.node_of(before.devices[send.from][0]) !=
           cluster.node_of(after.devices[send.to][0]);
  });
}

}  // namespace

UplinkShares gathering_groups(const Cluster& cluster, const Plan& plan) {
  UplinkShares gathering(cluster);
  for (const Stage& stage : plan.stages) {
    if (stage.zero_stage == 0 || stage.gathers_chunks()) continue;
    for (const Interval& group : stage.sharding_groups()) gathering.add(stage, group);
  }
  return gathering;
}

bool divided_as_stage(const StageParts& parts, const Stage& stage) {
  const auto as_stage = [&stage](const Mesh& mesh) {
    return mesh.replicas == stage.replicas && mesh.tensor_parallel == stage.tensor_parallel;
  };
  // Members that send rows hold samples as replicas, and share the layer as members: both have to
  // be the stage's.
  const StagePart& first = parts.all().front();
  return parts.all().size() == 1 && as_stage(*first.mesh) && as_stage(*first.holding);
}

/// A schedule that splits B and W needs their times apart.
void check_split(const Instance& instance, const Plan& plan, const Programs& programs) {
  if (!splits_backward(programs)) return;
  for (const ProfileLayer& layer : instance.profile.layers) {
    for (const ProfileRow& row : layer.rows) {
      if (row.split_known) continue;
      throw_bad_input({fmt::format("profile of {}", instance.profile.model),
                       fmt::format("layer \"{}\" has one time for the whole backward on \"{}\"",
                                   layer.name, row.device),
                       fmt::format("schedule \"{}\" runs B and W apart", plan.schedule.name),
                       "give backward_input and backward_weight, or choose 1f1b"});
    }
  }
}

bool is_task(Op op) {
  return op == Op::forward || op == Op::backward_input || op == Op::backward_weight ||
         op == Op::backward;
}

Phase phase_of(Op op) {
  switch (op) {
    case Op::backward_input: return Phase::backward_input;
    case Op::backward_weight: return Phase::backward_weight;
    case Op::backward: return Phase::backward;
    default: return Phase::forward;
  }
}

Prices::Prices(const Instance& instance, const Plan& plan, const Programs& programs)
    : Prices(instance, plan, programs, ReplicaShift(plan)) {}

Prices::Prices(const Instance& instance, const Plan& plan, const Programs& programs,
               const ReplicaShift& shift) {
  check_split(instance, plan, programs);
  const UplinkShares gathering = gathering_groups(instance.cluster, plan);
  int program = 0;
  for (const Stage& stage : plan.stages) {
    first_program_.push_back(program);
    first_lane_.push_back(num_lanes_);
    replicas_.push_back(shift.replicas(static_cast<int>(replicas_.size())));
    num_programs_.push_back(replicas_.back() * stage.tensor_parallel);
    program += num_programs_.back();
    num_lanes_ = lanes_of(stage, num_lanes_).end();
    stage_bytes_.push_back(bytes_basis(instance, StageParts(stage), num_programs_.back()));
  }
  for (const TieEnd& end : tie_ends(plan, instance.ties)) {
    tied_row_bytes_.push_back(instance.ties[static_cast<std::size_t>(end.tie)].row_bytes);
  }
  const std::vector<Chunk> chunks = chunks_in_order(plan);
  for (const Chunk& chunk : chunks) {
    cut_bytes_.push_back(instance.profile.layers[chunk.layers.end - 1].output_bytes);
  }
  chunks_.resize(programs.size() * chunks.size());
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    price_chunk(instance, plan, ChunkId(static_cast<int>(c)), chunks[c].layers, chunks[c].stage,
                gathering);
  }
  for (std::size_t c = 0; c + 1 < chunks.size(); ++c) {
    const int stage = chunks[c].stage;
    if (stage != chunks[c + 1].stage || plan.stages[stage].blocks.empty()) continue;
    price_hand_over(instance, StageParts(plan.stages[stage]), stage, chunks[c + 1].layers.begin, c);
  }
  price_blocking_sends(instance, plan);
  for (const Program& p : programs) {
    const Stage& stage = plan.stages[p.stage.index()];
    const StageParts parts(stage);
    steps_.push_back(pptrain::step_seconds(instance, parts, stage, p.device));
    const bool counts = stage_bytes_[p.stage.index()] == BytesBasis::measured;
    step_bytes_.push_back(counts ? pptrain::step_bytes(instance, parts, stage, p.device) : 0.0);
  }
  count_fixed_bytes(instance, plan, programs);
  count_buffers(instance, plan, programs);
}

/// Where a chunk and the next one on the same devices, whose first layer is `first`, are divided
/// differently: samples are exchanged behind F of the former and B of the latter.
void Prices::price_hand_over(const Instance& instance, const StageParts& parts, int stage_index,
                             std::int64_t first, std::size_t chunk) {
  const Mesh& before = parts.mesh_at(first - 1);
  const Mesh& after = parts.mesh_at(first);
  if (&parts.part_at(first - 1) == &parts.part_at(first)) return;
  const PassSeconds between = repartition_seconds(instance, {first, &before, &after});
  for (int d = 0; d < num_programs_[stage_index]; ++d) {
    ChunkPrice* prices = &chunks_[(first_program_[stage_index] + d) * cut_bytes_.size() + chunk];
    lengthen(prices[0].tasks[static_cast<std::size_t>(Phase::forward)], between.forward);
    for (const Phase phase : {Phase::backward_input, Phase::backward}) {
      lengthen(prices[1].tasks[static_cast<std::size_t>(phase)], between.backward);
    }
  }
}

/// Prolongs the tasks of sender and receiver by what a send between nodes takes, where sends block.
void Prices::price_blocking_sends(const Instance& instance, const Plan& plan) {
  const double bandwidth = instance.profile.communication.blocking_bandwidth;
  if (bandwidth == 0.0) return;
  const std::vector<Chunk> chunks = chunks_in_order(plan);
  for (std::size_t c = 0; c + 1 < chunks.size(); ++c) {
    const Stage& before = plan.stages[chunks[c].stage];
    const Stage& after = plan.stages[chunks[c + 1].stage];
    if (&before == &after || !crosses_nodes(instance.cluster, before, after)) continue;
    for (const std::size_t side : {c, c + 1}) {
      const int stage = chunks[side].stage;
      const Stage& mesh = plan.stages[stage];
      for (int d = 0; d < num_programs_[stage]; ++d) {
        const auto samples = static_cast<double>(mesh.samples[d / mesh.tensor_parallel].size());
        const double seconds = samples * cut_bytes_[c] / mesh.tensor_parallel / bandwidth;
        ChunkPrice& price =
            chunks_[index(first_program_[stage] + d, ChunkId(static_cast<int>(side)))];
        for (const Phase phase : {Phase::forward, Phase::backward_input, Phase::backward}) {
          lengthen(price.tasks[static_cast<std::size_t>(phase)], seconds);
        }
      }
    }
  }
}

void Prices::price_chunk(const Instance& instance, const Plan& plan, ChunkId chunk,
                         const Interval& layers, int stage_index, const UplinkShares& gathering) {
  const Stage& stage = plan.stages[stage_index];
  const StageParts parts(stage, {layers});
  const bool by_replica = divided_as_stage(parts, stage);
  const ChunkTimes times(instance, parts, !by_replica);
  LayerCosts costs(instance, parts.all().front(), gathering, times.first_bandwidth());
  const int num_devices = num_programs_[stage_index];
  const int group_size = by_replica ? stage.tensor_parallel : num_devices;
  ChunkPrice of_group;
  of_group.num_layers = static_cast<int>(layers.size());
  for (int d = 0; d < num_devices; ++d) {
    const int program = first_program_[stage_index] + d;
    if (d % group_size == 0) {
      of_group.tasks = by_replica ? times.of_replica(d / group_size) : times.of_stage();
      if (by_replica)
        price_gathers(instance, *parts.all().front().mesh, costs, d / group_size, program,
                      of_group);
      if (group_size > 1) task_groups_.emplace_back();
    }
    ChunkPrice& price = chunks_[index(program, chunk)];
    price = of_group;
    const PhaseSeconds own = times.own(d);
    for (std::size_t i = 0; i < own.size(); ++i) price.tasks[i].busy = own[i];
    price.bytes = chunk_bytes(instance, parts, d, stage_bytes_[stage_index]);
    if (group_size == 1) continue;
    price.task_group = static_cast<int>(task_groups_.size()) - 1;
    task_groups_.back().push_back(program);
  }
  group_reductions(instance, stage, layers, stage_index, chunk);
  if (stage.gathers_chunks()) group_gathers(instance, stage, layers, stage_index, chunk);
}

/// Weights that tasks of a replica wait for: those of a layer at a time with stage 3, and of the
/// step before below.
void Prices::price_gathers(const Instance& instance, const Stage& mesh, LayerCosts& layers,
                           int replica, int program, ChunkPrice& price) {
  if (mesh.zero_stage == 0 || mesh.gathers_chunks() || mesh.sharding_group_of(replica).size() == 1)
    return;
  const std::vector<LayerCost> costs = layers.of(replica);
  price.gathers_layers = mesh.zero_stage >= 3;
  if (price.gathers_layers)
    return add_layer_gathers(costs, instance.profile.communication.beside, price.tasks);
  const auto [known, is_first] = publications_.try_emplace(program, 0.0);
  if (is_first) {
    double update = 0.0;
    for (const DeviceId device : mesh.devices[replica]) {
      update = std::max(update, update_seconds(instance, StageParts(mesh),
                                               instance.cluster.kind_index_of(device)));
    }
    known->second = Publication(update);
  }
  for (const LayerCost& cost : costs) {
    price.published_end = known->second.forward_end(
        cost.update, cost.gather, cost.seconds[static_cast<std::size_t>(Phase::forward)]);
  }
}

Prices Prices::of_classes(const SimulatedClasses& classes) const {
  Prices made;
  made.cut_bytes_ = cut_bytes_;
  made.tied_row_bytes_ = tied_row_bytes_;
  made.num_lanes_ = classes.lanes.num();
  for (const int p : classes.programs.first) {
    made.steps_.push_back(steps_[p]);
    made.step_bytes_.push_back(step_bytes_[p]);
    made.fixed_bytes_.push_back(fixed_bytes_[p]);
    made.gathered_gradient_bytes_.push_back(gathered_gradient_bytes_[p]);
    made.counts_buffers_.push_back(counts_buffers_[p]);
    for (int c = 0; c < num_chunks(); ++c) {
      ChunkPrice& price = made.chunks_.emplace_back(of(p, ChunkId(c)));
      if (price.task_group >= 0) price.task_group = classes.task_groups.of[price.task_group];
      if (price.reduce_group >= 0) price.reduce_group = classes.collectives.of[price.reduce_group];
      if (price.across_group >= 0) price.across_group = classes.collectives.of[price.across_group];
      if (price.gather_group >= 0) price.gather_group = classes.collectives.of[price.gather_group];
    }
  }
  for (const int group : classes.task_groups.first) {
    made.task_groups_.push_back(classes.programs.classes_of(task_groups_[group]));
  }
  for (const int number : classes.collectives.first) {
    PricedCollective& collective = made.reductions_.emplace_back(reductions_[number]);
    collective.programs = classes.programs.classes_of(collective.programs);
    collective.lane = classes.lanes.of[collective.lane];
    collective.behind = classes.lanes.classes_of(collective.behind);
  }
  return made;
}

}  // namespace pptrain
