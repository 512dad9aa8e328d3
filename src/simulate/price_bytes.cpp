// What programs hold beside the activations of their chunks.
#include <algorithm>

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

/// Layers that ZeRO holds whole beside their slices: with stage 2 the gradients of the one in work and of the one that
/// is summed, with stage 3 also the weights that are gathered for a task where chunks are not.
double whole_layers_bytes(const Instance& instance, const Stage& stage, int replica) {
  if (stage.zero_stage < 2 || stage.sharding_group_of(replica).size() == 1) return 0.0;
  const BytesPerParameter& bytes = instance.profile.bytes_per_parameter;
  const bool gathers_layers = stage.divides_weights() && !stage.gathers_chunks();
  return (2.0 * bytes.gradient + (gathers_layers ? bytes.weight : 0.0)) * largest_layer(instance, stage) /
         stage.tensor_parallel;
}

/// The parameter that the first and the last layer share is there once where one stage has both.
double shared_bytes(const Instance& instance, const Stage& stage, int replica) {
  const auto has = [&stage](std::int64_t layer) {
    return std::any_of(stage.layers.begin(), stage.layers.end(),
                       [layer](const Interval& layers) { return layers.contains(layer); });
  };
  if (instance.tied.rows == 0 || !has(0) || !has(instance.profile.num_layers() - 1)) return 0.0;
  const BytesPerParameter& bytes = instance.profile.bytes_per_parameter;
  const double parameters = static_cast<double>(instance.tied.rows) * instance.tied.row_bytes / bytes.gradient;
  return bytes_per_parameter(bytes, stage, static_cast<double>(stage.sharding_group_of(replica).size())) * parameters /
         stage.tensor_parallel;
}

/// Of the gradients of a chunk: with ZeRO stage 1 they are summed layer by layer, two at a time.
double summed_at_once(const Instance& instance, const Stage& stage, const Interval& layers) {
  const double bytes = gradient_bytes(instance.profile, stage, layers);
  if (stage.zero_stage == 0) return bytes;
  const double layer = instance.profile.bytes_per_parameter.gradient * largest_layer(instance, stage);
  return std::min(bytes, 2.0 * layer / stage.tensor_parallel);
}

}  // namespace

void Prices::count_fixed_bytes(const Instance& instance, const Plan& plan, const Programs& programs) {
  const std::vector<double> fixed = pptrain::fixed_bytes(instance, plan, Workspace::counted);
  const std::vector<double> state = pptrain::fixed_bytes(instance, plan, Workspace::left_out);
  for (const Program& program : programs) {
    const Stage& stage = plan.stages[program.stage.index()];
    const bool counts_buffers = stage_bytes_[program.stage.index()] == BytesBasis::measured;
    const std::size_t device = program.device.index();
    counts_buffers_.push_back(counts_buffers ? 1 : 0);
    fixed_bytes_.push_back(counts_buffers ? state[device] - shared_bytes(instance, stage, program.replica)
                                          : fixed[device] + whole_layers_bytes(instance, stage, program.replica));
  }
}

/// Buffers of sums, and what one chunk of a device hands over to the next.
void Prices::count_buffers(const Instance& instance, const Plan& plan, const Programs& programs) {
  const std::vector<Chunk> chunks = chunks_in_order(plan);
  for (PricedCollective& reduction : reductions_) {
    const bool whole = reduction.kind == PricedCollective::Kind::gradients && !reduction.after_each_task;
    if (!whole || !counts_buffers(reduction.programs.front())) continue;
    const Stage& stage = plan.stages[programs[reduction.programs.front()].stage.index()];
    reduction.buffer_bytes = std::min(instance.profile.workspace_bytes,
                                      summed_at_once(instance, stage, chunks[reduction.chunk.index()].layers));
  }
  for (std::size_t c = 0; c + 1 < chunks.size(); ++c) {
    const int stage = chunks[c].stage;
    if (stage == chunks[c + 1].stage && stage_bytes_[stage] == BytesBasis::measured) count_hand_over(plan, stage, c);
  }
}

/// From a chunk to the next one on the same device, and back.
void Prices::count_hand_over(const Plan& plan, int stage_index, std::size_t chunk) {
  const Stage& stage = plan.stages[stage_index];
  for (int d = 0; d < stage.replicas * stage.tensor_parallel; ++d) {
    const auto samples = static_cast<double>(stage.samples[place_in(stage, d).replica].size());
    ChunkPrice* prices = &chunks_[(first_program_[stage_index] + d) * cut_bytes_.size() + chunk];
    prices[1].handed_bytes[0] = prices[0].handed_bytes[1] = samples * cut_bytes_[chunk];
  }
}

}  // namespace pptrain
