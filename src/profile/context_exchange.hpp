#pragma once

#include <cstdint>

#include "cluster/cluster.hpp"
#include "profile/kernel_time.hpp"
#include "profile/profile.hpp"

namespace pptrain {

/// What context parallelism costs beside computation: `replicas` that divide the positions of
/// samples pass keys and values round, once in F and again in B, where their gradients go round too
/// (Liu et al., "Ring Attention", 2023).
class ContextExchange {
 public:
  /// Nothing is passed: a replica has all positions of its samples.
  ContextExchange() = default;
  /// Replicas on neighbouring devices of this kind, each a tensor-parallel group of `degree`.
  /// `hides`: whether the next keys and values come while a device attends to those that it has.
  ContextExchange(const Cluster& cluster, const DeviceKind& kind, int degree, std::int64_t replicas,
                  const Communication& communication, bool hides);

  /// Replicas that divide the positions of each sample; 1: none do, and nothing is passed.
  std::int64_t replicas() const { return replicas_; }
  /// Seconds that a layer's passes take longer for a micro-batch of which a replica has `samples`
  /// shares.
  LayerSeconds seconds(const Work& work, const Roofline& roofline, double samples) const;

 private:
  std::int64_t replicas_ = 1;
  int degree_ = 1;
  bool hides_ = false;
  Link link_;
  Communication communication_;
};

}  // namespace pptrain
