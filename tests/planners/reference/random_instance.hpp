#pragma once

#include <cstdint>
#include <vector>

#include "cluster/cluster.hpp"
#include "cost/cost.hpp"
#include "profile/profile.hpp"

namespace pptrain::reference {

/// How large an instance may become.
struct InstanceSize {
  int most_layers = 10;
  int most_devices = 6;
  std::vector<int> batches = {1, 2, 3, 4, 6, 8, 12, 16, 24};
};

struct RandomInstance {
  Profile profile;
  Cluster cluster;
  std::int64_t global_batch_size = 0;
  bool capped = false;  ///< memory caps were drawn so that they matter

  Instance view() const { return {profile, cluster, global_batch_size}; }
};

/// 2-10 layers on 1-6 devices of 1-3 kinds. Bandwidths, latencies, switches, missing links, rows in
/// samples and degrees are drawn; in half of the instances memory is so short that about a third of
/// all instances lose their best plan or all of them. Every fourth seed draws equal layers and
/// small whole numbers, so that many plans tie.
RandomInstance random_instance(std::uint64_t seed, const InstanceSize& size = {});

}  // namespace pptrain::reference
