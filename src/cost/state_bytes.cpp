#include "cost/state_bytes.hpp"

#include "cost/stage_time.hpp"

namespace pptrain {
namespace {

/// Adds the state of one replica of a part to its members.
void add_replica(const Profile& profile, const StagePart& part, int replica, double parameters,
                 std::vector<StateBytes>& state) {
  const Stage& mesh = *part.mesh;
  const StateBytes each =
      state_bytes_per_parameter(profile.bytes_per_parameter, mesh, mesh.slices_of(replica));
  for (int k = 0; k < mesh.tensor_parallel; ++k) {
    const double held = member_load(mesh, k) * parameters / mesh.tensor_parallel;
    StateBytes& device = state[mesh.devices[replica][k].index()];
    device.weights += held * each.weights;
    device.gradients += held * each.gradients;
    device.optimizer += held * each.optimizer;
  }
}

}  // namespace

StateBytes state_bytes_per_parameter(const BytesPerParameter& bytes, int zero_stage,
                                     double sharers) {
  return {bytes.weight / (zero_stage >= 3 ? sharers : 1.0),
          bytes.gradient / (zero_stage >= 2 ? sharers : 1.0),
          bytes.optimizer / (zero_stage >= 1 ? sharers : 1.0)};
}

StateBytes state_bytes_per_parameter(const BytesPerParameter& bytes, const Stage& mesh,
                                     double sharers) {
  StateBytes each = state_bytes_per_parameter(bytes, mesh.zero_stage, sharers);
  if (mesh.offload) each.optimizer = 0.0;
  return each;
}

std::vector<StateBytes> state_bytes(const Instance& instance, const Plan& plan) {
  std::vector<StateBytes> state(static_cast<std::size_t>(instance.cluster.num_devices()));
  for (const Stage& stage : plan.stages) {
    const StageParts parts(stage);
    for (const StagePart& part : parts.all()) {
      double parameters = 0.0;
      for (const Interval& layers : part.layers)
        parameters += parameters_of(instance.profile, layers);
      for (int j = 0; j < part.mesh->replicas; ++j)
        add_replica(instance.profile, part, j, parameters, state);
    }
  }
  return state;
}

}  // namespace pptrain
