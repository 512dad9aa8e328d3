#pragma once

#include <fmt/format.h>

#include <random>

#include "cluster/cluster.hpp"
#include "profile/profile.hpp"

namespace pptrain {

/// Transformer blocks of a few hundred million parameters in fp16 on v100 and t4, at degrees 1 to
/// 8: rows of 1, 2, 4, 8 and 16 samples, in which the per-sample time falls with the samples. With
/// `spread` above 0 the layers differ.
inline Profile blocks(int layers, double spread) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> real(1.0 - spread, 1.0 + spread);
  Profile profile;
  profile.model = "blocks";
  profile.bytes_per_parameter = {2.0, 2.0, 12.0};
  for (int l = 0; l < layers; ++l) {
    ProfileLayer made;
    made.name = fmt::format("block.{}", l);
    made.parameters = 50e6 * real(random);
    made.output_bytes = 4e6 * real(random);
    made.stored_bytes = 60e6 * real(random);
    made.tensor_parallel_allreduce_bytes = 8e6 * real(random);
    for (const auto& [kind, slowdown] : {std::pair{"v100", 1.0}, {"t4", 2.1}}) {
      const double seconds = 1.5e-3 * slowdown * real(random);
      for (const int n : {1, 2, 4, 8}) {
        for (const double samples : {1.0, 2.0, 4.0, 8.0, 16.0}) {
          const double forward = seconds * (0.2 + samples) / n + 2e-5;
          made.rows.push_back({kind, n, samples, {forward, forward, forward}, true});
        }
      }
    }
    profile.layers.push_back(std::move(made));
  }
  return profile;
}

/// The first half of the nodes v100 with NVLink, the rest t4.
inline Cluster mixed_nodes(int nodes, int devices) {
  Cluster cluster;
  cluster.name = "mixed";
  cluster.device_kinds = {{"v100", 16e9, {}, 0.0}, {"t4", 15e9, {}, 0.0}};
  for (const char* kind : {"v100", "t4"}) {
    NodeGroup group;
    group.kind = kind;
    group.device_kind = kind;
    group.count = nodes / 2;
    group.num_devices = devices;
    group.link = kind[0] == 'v' ? Link{150e9, 2e-6} : Link{8e9, 5e-6};
    group.uplink = kind[0] == 'v' ? Link{12e9, 1e-5} : Link{6e9, 2e-5};
    cluster.groups.push_back(group);
  }
  cluster.finish("made");
  return cluster;
}

}  // namespace pptrain
