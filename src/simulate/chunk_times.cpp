#include "simulate/chunk_times.hpp"

#include <algorithm>

namespace pptrain {

ChunkTimes::ChunkTimes(const Instance& instance, const StageParts& parts, bool gathers)
    : instance_(instance), parts_(parts) {
  for (const StagePart& part : parts.all()) bandwidths_.push_back(tensor_bandwidth(instance, part));
  for (const StageParts::Boundary& boundary : parts.boundaries()) {
    const PassSeconds pass = repartition_seconds(instance, boundary);
    between_ += PhaseSeconds{pass.forward, pass.backward, 0.0, pass.backward};
  }
  for (const StagePart& part : parts.all()) {
    const TensorSeconds norms = batch_norm_seconds(instance, part);
    between_ += PhaseSeconds{norms.forward, norms.backward, 0.0, norms.backward};
    const TensorSeconds rows = exchange_seconds(instance, part);
    between_ += PhaseSeconds{rows.forward, rows.backward, 0.0, rows.backward};
  }
  if (!gathers) return;
  for (const StagePart& part : parts.all()) {
    const double gather = gather_seconds(instance, part);
    between_ += PhaseSeconds{gather, gather, 0.0, gather};
  }
}

std::array<TaskPrice, num_phases> ChunkTimes::of_replica(int replica) const {
  const StagePart& part = parts_.all().front();
  const ReplicaGroup group = replica_group_with(bandwidths_.front(), instance_, part, replica);
  return together(computing_seconds(instance_, part, group),
                  tensor_phase_seconds(instance_, part, group), offload_seconds(part, replica));
}

std::array<TaskPrice, num_phases> ChunkTimes::of_stage() const {
  PhaseSeconds computing = {};
  PhaseSeconds tensor = {};
  double offload = 0.0;
  for (const StagePart& part : parts_.all()) {
    double slowest_offload = 0.0;
    for (int j = 0; j < part.mesh->replicas; ++j) {
      slowest_offload = std::max(slowest_offload, offload_seconds(part, j));
    }
    offload += slowest_offload;
    PhaseSeconds slowest = {};
    PhaseSeconds collectives = {};
    for (ReplicaGroup& group : replica_groups(instance_.cluster, part)) {
      const double bandwidth = bandwidths_[static_cast<std::size_t>(&part - parts_.all().data())];
      group.link.bandwidth = std::min(group.link.bandwidth, bandwidth);
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
  return together(computing, tensor, offload);
}

PhaseSeconds ChunkTimes::own(int device_of_stage) const {
  PhaseSeconds sum = {};
  for (const StagePart& part : parts_.all()) {
    const auto [replica, member] = place_in(*part.mesh, device_of_stage);
    sum +=
        computing_seconds(instance_, part, member_group(instance_.cluster, part, replica, member));
  }
  return sum;
}

double ChunkTimes::offload_seconds(const StagePart& part, int replica) const {
  return part.mesh->offload_activations ? activation_offload_seconds(instance_, part, replica)
                                        : 0.0;
}

std::array<TaskPrice, num_phases> ChunkTimes::together(const PhaseSeconds& computing,
                                                       const PhaseSeconds& tensor,
                                                       double offload) const {
  std::array<TaskPrice, num_phases> tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].communication = tensor[i] + between_[i];
    // W moves nothing.
    const double moving = static_cast<Phase>(i) == Phase::backward_weight ? 0.0 : offload;
    tasks[i].communication += std::max(0.0, moving - computing[i] - tasks[i].communication);
    tasks[i].seconds = computing[i] + tasks[i].communication;
  }
  return tasks;
}

}  // namespace pptrain
