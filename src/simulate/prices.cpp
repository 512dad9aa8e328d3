#include "simulate/prices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "simulate/phase_seconds.hpp"

namespace pptrain {
namespace {

bool splits_backward(const Programs& programs) {
  return std::any_of(programs.begin(), programs.end(), [](const Program& program) {
    return std::any_of(program.instructions.begin(), program.instructions.end(),
                       [](const Instruction& i) { return i.op == Op::backward_input; });
  });
}

/// A schedule that splits B and W needs their times apart.
void refuse_halved(const Instance& instance, const Plan& plan, const Programs& programs) {
  if (!splits_backward(programs)) return;
  for (const ProfileLayer& layer : instance.profile.layers) {
    for (const ProfileRow& row : layer.rows) {
      if (row.split_known) continue;
      throw_bad_input(
          {fmt::format("profile of {}", instance.profile.model),
           fmt::format("layer \"{}\" has one time for the whole backward on \"{}\"", layer.name, row.device),
           fmt::format("schedule \"{}\" runs B and W apart", plan.schedule.name),
           "give backward_input and backward_weight, or choose 1f1b"});
    }
  }
}

/// Where a device is in a mesh of the stage's devices.
std::pair<int, int> place_in(const Stage& mesh, int device_of_stage) {
  return {device_of_stage / mesh.tensor_parallel, device_of_stage % mesh.tensor_parallel};
}

/// Seconds of all devices of a stage in one chunk.
class ChunkTimes {
 public:
  /// `gathers`: whether tasks gather the weights that ZeRO stage 3 divides.
  ChunkTimes(const Instance& instance, const StageParts& parts, bool gathers) : instance_(instance), parts_(parts) {
    for (const StageParts::Boundary& boundary : parts.boundaries()) {
      const PassSeconds pass = repartition_seconds(instance, boundary);
      between_ += PhaseSeconds{pass.forward, pass.backward, 0.0, pass.backward};
    }
    if (!gathers) return;
    for (const StagePart& part : parts.all()) {
      const double gather = gather_seconds(instance, part);
      between_ += PhaseSeconds{gather, gather, 0.0, gather};
    }
  }

  /// Of one replica of a chunk that is divided as its stage, from its start to its end.
  std::array<TaskPrice, num_phases> of_replica(int replica) const {
    const StagePart& part = parts_.all().front();
    const ReplicaGroup group = replica_group(instance_.cluster, *part.mesh, replica);
    return together(computing_seconds(instance_, part, group), tensor_phase_seconds(instance_, part, group));
  }

  /// Of a chunk whose parts are divided differently: all replicas wait for the slowest in each part.
  std::array<TaskPrice, num_phases> of_stage() const {
    PhaseSeconds computing = {};
    PhaseSeconds tensor = {};
    for (const StagePart& part : parts_.all()) {
      PhaseSeconds slowest = {};
      PhaseSeconds collectives = {};
      for (const ReplicaGroup& group : replica_groups(instance_.cluster, *part.mesh)) {
        const PhaseSeconds own = computing_seconds(instance_, part, group);
        const PhaseSeconds more = tensor_phase_seconds(instance_, part, group);
        for (std::size_t i = 0; i < own.size(); ++i) {
          if (own[i] + more[i] < slowest[i] + collectives[i]) continue;
          slowest[i] = own[i];
          collectives[i] = more[i];
        }
      }
      computing += slowest;
      tensor += collectives;
    }
    return together(computing, tensor);
  }

  /// What one device computes itself.
  PhaseSeconds own(int device_of_stage) const {
    PhaseSeconds sum = {};
    for (const StagePart& part : parts_.all()) {
      const auto [replica, member] = place_in(*part.mesh, device_of_stage);
      sum += computing_seconds(instance_, part, member_group(instance_.cluster, *part.mesh, replica, member));
    }
    return sum;
  }

  double stored_bytes(int device_of_stage) const {
    double bytes = 0.0;
    for (const StagePart& part : parts_.all()) {
      const auto samples = part.mesh->samples[place_in(*part.mesh, device_of_stage).first].size();
      for (const Interval& layers : part.layers) {
        for (std::int64_t l = layers.begin; l < layers.end; ++l) {
          bytes += static_cast<double>(samples) * stored_bytes_of(instance_.profile, l, part.mesh->recompute);
        }
      }
    }
    return bytes;
  }

  /// What the largest layer stores beyond what recomputation keeps of it.
  double in_work_bytes(int device_of_stage) const {
    double most = 0.0;
    for (const StagePart& part : parts_.all()) {
      const auto samples = part.mesh->samples[place_in(*part.mesh, device_of_stage).first].size();
      for (const Interval& layers : part.layers) {
        for (std::int64_t l = layers.begin; l < layers.end; ++l) {
          const double more = stored_bytes_of(instance_.profile, l, Recompute::none) -
                              stored_bytes_of(instance_.profile, l, part.mesh->recompute);
          if (l > 0) most = std::max(most, static_cast<double>(samples) * more);
        }
      }
    }
    return most;
  }

 private:
  std::array<TaskPrice, num_phases> together(const PhaseSeconds& computing, const PhaseSeconds& tensor) const {
    std::array<TaskPrice, num_phases> tasks;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      tasks[i].communication = tensor[i] + between_[i];
      tasks[i].seconds = computing[i] + tasks[i].communication;
    }
    return tasks;
  }

  const Instance& instance_;
  const StageParts& parts_;
  PhaseSeconds between_ = {};
};

/// Layers that ZeRO holds whole beside their slices: with stage 2 the gradients of the one in work and of the one that
/// is summed, with stage 3 also the weights that are gathered for a task where chunks are not.
double whole_layers_bytes(const Instance& instance, const Stage& stage) {
  if (stage.zero_stage < 2 || stage.replicas == 1) return 0.0;
  double parameters = 0.0;
  for (const Interval& layers : stage.layers) {
    for (std::int64_t l = layers.begin; l < layers.end; ++l) {
      parameters = std::max(parameters, instance.profile.layers[l].parameters);
    }
  }
  const BytesPerParameter& bytes = instance.profile.bytes_per_parameter;
  const bool gathers_layers = stage.zero_stage >= 3 && !stage.gathers_chunks();
  return (2.0 * bytes.gradient + (gathers_layers ? bytes.weight : 0.0)) * parameters / stage.tensor_parallel;
}

/// Whether the whole chunk is divided as its stage says.
bool divided_as_stage(const StageParts& parts, const Stage& stage) {
  const Stage& mesh = parts.first_mesh();
  return parts.all().size() == 1 && mesh.replicas == stage.replicas && mesh.tensor_parallel == stage.tensor_parallel;
}

}  // namespace

bool is_task(Op op) {
  return op == Op::forward || op == Op::backward_input || op == Op::backward_weight || op == Op::backward;
}

Phase phase_of(Op op) {
  switch (op) {
    case Op::backward_input: return Phase::backward_input;
    case Op::backward_weight: return Phase::backward_weight;
    case Op::backward: return Phase::backward;
    default: return Phase::forward;
  }
}

Prices::Prices(const Instance& instance, const Plan& plan, const Programs& programs) {
  refuse_halved(instance, plan, programs);
  int program = 0;
  for (const Stage& stage : plan.stages) {
    first_program_.push_back(program);
    first_lane_.push_back(num_lanes_);
    program += stage.replicas * stage.tensor_parallel;
    num_lanes_ += 2 * stage.tensor_parallel;
  }
  const std::vector<Chunk> chunks = chunks_in_order(plan);
  for (const Chunk& chunk : chunks) {
    cut_bytes_.push_back(instance.profile.layers[chunk.layers.end - 1].output_bytes);
  }
  chunks_.resize(programs.size() * chunks.size());
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    price_chunk(instance, plan, ChunkId(static_cast<int>(c)), chunks[c].layers, chunks[c].stage);
  }
  price_steps(instance, plan, programs);
}

void Prices::price_chunk(const Instance& instance, const Plan& plan, ChunkId chunk, const Interval& layers,
                         int stage_index) {
  const Stage& stage = plan.stages[stage_index];
  const StageParts parts(stage, {layers});
  const ChunkTimes times(instance, parts, !stage.gathers_chunks());
  const bool by_replica = divided_as_stage(parts, stage);
  const int num_devices = stage.replicas * stage.tensor_parallel;
  const int group_size = by_replica ? stage.tensor_parallel : num_devices;
  std::array<TaskPrice, num_phases> tasks;
  for (int d = 0; d < num_devices; ++d) {
    const int program = first_program_[stage_index] + d;
    if (d % group_size == 0) {
      tasks = by_replica ? times.of_replica(d / group_size) : times.of_stage();
      if (group_size > 1) task_groups_.emplace_back();
    }
    ChunkPrice& price = chunks_[index(program, chunk)];
    price.tasks = tasks;
    const PhaseSeconds own = times.own(d);
    for (std::size_t i = 0; i < own.size(); ++i) price.tasks[i].busy = own[i];
    price.stored_bytes = times.stored_bytes(d);
    price.in_work_bytes = times.in_work_bytes(d);
    if (group_size == 1) continue;
    price.task_group = static_cast<int>(task_groups_.size()) - 1;
    task_groups_.back().push_back(program);
  }
  group_reductions(instance, stage, layers, stage_index, chunk);
  if (stage.gathers_chunks()) group_gathers(instance, stage, layers, stage_index, chunk);
}

/// One group per shard index, beside those of the gradients.
void Prices::group_gathers(const Instance& instance, const Stage& stage, const Interval& layers, int stage_index,
                           ChunkId chunk) {
  const double bytes =
      instance.profile.bytes_per_parameter.weight * parameters_of(instance.profile, layers) / stage.tensor_parallel;
  for (int shard = 0; shard < stage.tensor_parallel; ++shard) {
    const double whole = member_load(stage, shard) * bytes;
    PricedCollective gather;
    gather.kind = PricedCollective::Kind::weights;
    gather.chunk = chunk;
    gather.lane = first_lane_[stage_index] + stage.tensor_parallel + shard;
    gather.seconds =
        all_gather_seconds(instance.cluster.slowest_link(shard_group(stage, shard)), stage.replicas, whole);
    for (int r = 0; r < stage.replicas; ++r) {
      gather.programs.push_back(first_program_[stage_index] + r * stage.tensor_parallel + shard);
      ChunkPrice& price = chunks_[index(gather.programs.back(), chunk)];
      price.gather_group = static_cast<int>(reductions_.size());
      price.gathered_bytes = whole;
    }
    reductions_.push_back(std::move(gather));
  }
}

/// One group per shard index, or the whole stage where parts of the chunk are divided differently.
void Prices::group_reductions(const Instance& instance, const Stage& stage, const Interval& layers, int stage_index,
                              ChunkId chunk) {
  const StageParts parts(stage, {layers});
  const bool by_shard = divided_as_stage(parts, stage);
  const double bytes = gradient_bytes(instance.profile, stage, layers);
  if (bytes == 0.0 || (by_shard && stage.replicas == 1)) return;
  const int num_groups = by_shard ? stage.tensor_parallel : 1;
  for (int shard = 0; shard < num_groups; ++shard) {
    PricedCollective reduction;
    reduction.chunk = chunk;
    reduction.lane = first_lane_[stage_index] + shard;
    reduction.seconds =
        by_shard ? all_reduce_seconds(instance.cluster, shard_group(stage, shard), member_load(stage, shard) * bytes)
                 : gradient_seconds(instance, parts);
    if (stage.zero_stage >= 2) {
      // A reduce-scatter after every W and, below stage 3, one gathering of weights: half an all-reduce each.
      reduction.seconds /= 2.0;
      reduction.after_each_task = true;
      reduction.at_end = stage.zero_stage == 2;
    }
    for (int d = shard; d < stage.replicas * stage.tensor_parallel; d += num_groups) {
      reduction.programs.push_back(first_program_[stage_index] + d);
      chunks_[index(reduction.programs.back(), chunk)].reduce_group = static_cast<int>(reductions_.size());
    }
    reductions_.push_back(std::move(reduction));
  }
}

void Prices::price_steps(const Instance& instance, const Plan& plan, const Programs& programs) {
  const std::vector<double> fixed = pptrain::fixed_bytes(instance, plan);
  for (const Program& program : programs) {
    const Stage& stage = plan.stages[program.stage.index()];
    steps_.push_back(pptrain::step_seconds(instance, StageParts(stage), stage, program.device));
    fixed_bytes_.push_back(fixed[program.device.index()] + whole_layers_bytes(instance, stage));
  }
}

}  // namespace pptrain
