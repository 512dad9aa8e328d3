#pragma once

#include <array>

#include "simulate/phase_seconds.hpp"
#include "simulate/prices.hpp"

namespace pptrain {

/// Seconds of all devices of a stage in one chunk.
class ChunkTimes {
 public:
  /// `gathers`: whether tasks gather at their start the weights that ZeRO stage 3 divides. The
  /// parts must outlive this.
  ChunkTimes(const Instance& instance, const StageParts& parts, bool gathers);

  /// What one replica takes from start to end, where the chunk is divided as its stage.
  std::array<TaskPrice, num_phases> of_replica(int replica) const;
  /// What all replicas take where the chunk's parts are divided differently: they wait for the
  /// slowest in each part.
  std::array<TaskPrice, num_phases> of_stage() const;
  /// `tensor_bandwidth` of the first part.
  double first_bandwidth() const { return bandwidths_.front(); }
  /// What one device computes itself.
  PhaseSeconds own(int device_of_stage) const;

 private:
  /// `offload`: of activations, one way, beside F and beside B.
  double offload_seconds(const StagePart& part, int replica) const;
  std::array<TaskPrice, num_phases> together(const PhaseSeconds& computing,
                                             const PhaseSeconds& tensor, double offload) const;

  const Instance& instance_;
  const StageParts& parts_;
  PhaseSeconds between_ = {};
  std::vector<double> bandwidths_;  // `tensor_bandwidth` of each part
};

}  // namespace pptrain
