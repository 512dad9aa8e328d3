// What programs hold beside the activations of their chunks.
#include <algorithm>
#include <numeric>

#include "cost/stage_time.hpp"
#include "simulate/prices.hpp"

namespace pptrain {
namespace {

/// Parameters of the largest layer of a stage.
double largest_layer(const Instance& instance, const Stage& stage) {
  double parameters = 0.0;
  for (const Interval& layers : stage.layers) {
    for (std::int64_t l = layers.begin; l < layers.end; ++l) {
      parameters = std::max(parameters, instance.profile.layers[l].parameters);
    }
  }
  return parameters;
}

/// Layers that ZeRO holds whole beside their slices: with stage 2 the gradients of the one in work
/// and of the one that is summed, with stage 3 also the weights that are gathered for a task where
/// chunks are not.
double whole_layers_bytes(const Instance& instance, const Stage& stage, int replica) {
  if (stage.zero_stage < 2 || stage.sharding_group_of(replica).size() == 1) return 0.0;
  const BytesPerParameter& bytes = instance.profile.bytes_per_parameter;
  const bool gathers_layers = stage.divides_weights() && !stage.gathers_chunks();
  return (2.0 * bytes.gradient + (gathers_layers ? bytes.weight : 0.0)) *
         largest_layer(instance, stage) / stage.tensor_parallel;
}

/// Chunks of a stage that have layers of a part which read a tied parameter.
int num_chunks_with(const Tie& tie, const Stage& stage, const StagePart& part) {
  return static_cast<int>(
      std::count_if(stage.layers.begin(), stage.layers.end(), [&](const Interval& chunk) {
        return std::any_of(tie.layers.begin(), tie.layers.end(), [&](std::int64_t layer) {
          return chunk.contains(layer) && contains(part.layers, layer);
        });
      }));
}

/// A tied parameter is there once where one part of a stage has several of its layers, but for what
/// each chunk after the first gives of its gradient.
double shared_bytes(const Instance& instance, const Stage& stage, int replica) {
  if (instance.ties.empty()) return 0.0;
  const BytesPerParameter& bytes = instance.profile.bytes_per_parameter;
  const double of_parameter = bytes_per_parameter(bytes, stage, stage.slices_of(replica));
  const StageParts parts(stage);
  double sum = 0.0;
  for (const Tie& tie : instance.ties) {
    for (const StagePart& part : parts.all()) {
      const int again = tie.num_layers_in(part.layers) - 1;
      if (again <= 0) continue;
      const double gradient = tie.gradient_bytes(stage);
      sum += again * of_parameter * (gradient / bytes.gradient) -
             (num_chunks_with(tie, stage, part) - 1) * gradient;
    }
  }
  return sum;
}

/// Whole gradients of the tied parameters at each end, for the exchange.
std::vector<double> gathered_gradients(const Instance& instance, const Plan& plan,
                                       const Program& program, bool counts) {
  const Stage& stage = plan.stages[program.stage.index()];
  const bool gathers =
      counts && stage.zero_stage >= 2 && stage.sharding_group_of(program.replica).size() > 1;
  std::vector<double> bytes;
  for (const TieEnd& end : tie_ends(plan, instance.ties)) {
    const bool own = end.stage == program.stage;
    bytes.push_back(gathers && own
                        ? instance.ties[static_cast<std::size_t>(end.tie)].gradient_bytes(stage)
                        : 0.0);
  }
  return bytes;
}

/// State of parameters that every member of a tensor-parallel group holds, beyond its share of
/// them.
double undivided_bytes(const Instance& instance, const Stage& stage, int replica, int shard) {
  const StageParts parts(stage);
  double bytes = 0.0;
  for (const StagePart& part : parts.all()) {
    const Stage& mesh = *part.mesh;
    const auto [of_replica, of_shard] = place_in(mesh, replica * stage.tensor_parallel + shard);
    double parameters = 0.0;
    for (const Interval& layers : part.layers) {
      for (std::int64_t l = layers.begin; l < layers.end; ++l) {
        parameters += instance.profile.layers[l].undivided_parameters;
      }
    }
    bytes += bytes_per_parameter(instance.profile.bytes_per_parameter, mesh,
                                 mesh.slices_of(of_replica)) *
             parameters * (1.0 - member_load(mesh, of_shard) / mesh.tensor_parallel);
  }
  return bytes;
}

/// Gradients that a device of the stage sums with other replicas.
class SummedGradients {
 public:
  SummedGradients(const Instance& instance, const Stage& stage)
      : instance_(instance), stage_(stage), parts_(stage) {}

  double of_layer(std::int64_t layer) const {
    const Stage& mesh = *parts_.part_at(layer).mesh;
    return mesh.replicas > 1 ? gradient_bytes(instance_.profile, mesh, {layer, layer + 1}) : 0.0;
  }

  double of_largest_layer() const {
    double most = 0.0;
    for (const Interval& layers : stage_.layers) {
      for (std::int64_t l = layers.begin; l < layers.end; ++l) most = std::max(most, of_layer(l));
    }
    return most;
  }

  /// The gradients of a chunk; one that several of its layers share counts once.
  double of_chunk(const Interval& layers) const {
    double bytes = 0.0;
    for (std::int64_t l = layers.begin; l < layers.end; ++l) bytes += of_layer(l);
    if (!stage_.blocks.empty()) return bytes;
    for (const Tie& tie : instance_.ties) {
      const int again = tie.num_layers_in({layers}) - 1;
      if (again > 0) bytes -= again * tie.gradient_bytes(stage_);
    }
    return bytes;
  }

 private:
  const Instance& instance_;
  const Stage& stage_;
  StageParts parts_;
};

/// Bytes of a chunk's gradients that are summed at once: all, or those of a layer with ZeRO.
double array_bytes(const SummedGradients& gradients, const Stage& stage, const Interval& layers) {
  const double bytes = gradients.of_chunk(layers);
  return stage.zero_stage == 0 ? bytes : std::min(bytes, gradients.of_largest_layer());
}

/// Buffers of the sums of a chunk's gradients, of which two buckets are under way: all, or with
/// ZeRO, which sums layer by layer, those of two neighbouring layers of each part.
double buffer_bytes(const SummedGradients& gradients, double workspace, const Stage& stage,
                    const Interval& layers) {
  const double all = std::min(workspace, gradients.of_chunk(layers));
  if (stage.zero_stage == 0) return all;
  const StageParts parts(stage, {layers});
  double sum = 0.0;
  for (const StagePart& part : parts.all()) {
    double most = 0.0, before = 0.0;
    for (const Interval& run : part.layers) {
      for (std::int64_t l = run.begin; l < run.end; ++l) {
        const double bucket = std::min(workspace / 2.0, gradients.of_layer(l));
        most = std::max(most, before + bucket);
        before = bucket;
      }
    }
    sum += most;
  }
  return std::min(sum, all);
}

}  // namespace

void Prices::count_fixed_bytes(const Instance& instance, const Plan& plan,
                               const Programs& programs) {
  const std::vector<double> fixed = pptrain::fixed_bytes(instance, plan, Workspace::counted);
  const std::vector<double> state = pptrain::fixed_bytes(instance, plan, Workspace::left_out);
  for (const Program& program : programs) {
    const Stage& stage = plan.stages[program.stage.index()];
    const bool counts_buffers = stage_bytes_[program.stage.index()] == BytesBasis::measured;
    const std::size_t device = program.device.index();
    counts_buffers_.push_back(counts_buffers ? 1 : 0);
    fixed_bytes_.push_back(
        counts_buffers ? state[device] - shared_bytes(instance, stage, program.replica) +
                             undivided_bytes(instance, stage, program.replica, program.shard)
                       : fixed[device] + whole_layers_bytes(instance, stage, program.replica));
    gathered_gradient_bytes_.push_back(gathered_gradients(instance, plan, program, counts_buffers));
  }
}

double Prices::gathered_gradient_bytes(int program) const {
  const std::vector<double>& ends = gathered_gradient_bytes_[static_cast<std::size_t>(program)];
  return std::accumulate(ends.begin(), ends.end(), 0.0);
}

/// Buffers of sums, and what one chunk of a device hands over to the next.
void Prices::count_buffers(const Instance& instance, const Plan& plan, const Programs& programs) {
  const std::vector<Chunk> chunks = chunks_in_order(plan);
  for (PricedCollective& reduction : reductions_) {
    const bool whole =
        reduction.kind == PricedCollective::Kind::gradients && !reduction.after_each_task;
    if (!whole || !counts_buffers(reduction.programs.front())) continue;
    const Stage& stage = plan.stages[programs[reduction.programs.front()].stage.index()];
    const Interval& layers = chunks[reduction.chunk.index()].layers;
    const SummedGradients gradients(instance, stage);
    const double workspace = instance.profile.workspace_bytes;
    reduction.buffer_bytes = buffer_bytes(gradients, workspace, stage, layers);
    // Parts sum beside one another, each by two buckets of its own.
    reduction.bucket_bytes =
        std::max(reduction.buffer_bytes / 2.0,
                 std::min(workspace / 2.0, array_bytes(gradients, stage, layers)));
  }
  for (std::size_t c = 0; c + 1 < chunks.size(); ++c) {
    const int stage = chunks[c].stage;
    if (stage != chunks[c + 1].stage || stage_bytes_[stage] != BytesBasis::measured) continue;
    count_hand_over(StageParts(plan.stages[stage]), stage, chunks[c + 1].layers.begin, c);
  }
}

/// From chunk `chunk` to the next one on the same device, whose first layer is `first`, and back.
void Prices::count_hand_over(const StageParts& parts, int stage_index, std::int64_t first,
                             std::size_t chunk) {
  const Mesh& before = parts.mesh_at(first - 1);
  const Mesh& after = parts.mesh_at(first);
  const auto bytes = [&](const Mesh& mesh, int device_of_stage) {
    const Interval samples =
        mesh.samples[static_cast<std::size_t>(place_in(mesh, device_of_stage).replica)];
    return static_cast<double>(samples.size()) * cut_bytes_[chunk];
  };
  for (int d = 0; d < num_programs_[stage_index]; ++d) {
    ChunkPrice* prices = &chunks_[(first_program_[stage_index] + d) * cut_bytes_.size() + chunk];
    prices[1].handed_bytes[0] = bytes(after, d);
    prices[0].handed_bytes[1] = bytes(before, d);
  }
}

}  // namespace pptrain
