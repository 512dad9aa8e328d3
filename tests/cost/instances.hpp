#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "cost/cost.hpp"
#include "profile/profile.hpp"

namespace pptrain {

/// A layer with one row of one sample on kind `device`: F, B and W in seconds per sample.
inline ProfileLayer layer(const std::string& name, double forward, double backward_input,
                          double backward_weight, const std::string& device = "v") {
  ProfileLayer result;
  result.name = name;
  result.rows.push_back({device, 1, 1.0, {forward, backward_input, backward_weight}, true});
  return result;
}

/// Two layers, one second for each pass of a sample, `output_bytes` between them.
inline Profile two_layers(double output_bytes) {
  Profile profile;
  for (const char* name : {"a", "b"}) {
    profile.layers.push_back(layer(name, 1, 1, 1));
    profile.layers.back().output_bytes = output_bytes;
  }
  return profile;
}

/// Adds rows of another kind of device, `factor` times as long as the first ones.
inline void add_kind(Profile& profile, const std::string& device, double factor) {
  for (ProfileLayer& l : profile.layers) {
    ProfileRow row = l.rows.front();
    row.device = device;
    row.seconds.forward *= factor;
    row.seconds.backward_input *= factor;
    row.seconds.backward_weight *= factor;
    l.rows.push_back(row);
  }
}

/// Rows at degree n: the time of degree 1 divided by n.
inline void add_degree(Profile& profile, int n) {
  for (ProfileLayer& l : profile.layers) {
    std::vector<ProfileRow> more;
    for (ProfileRow row : l.rows) {
      if (row.tensor_parallel != 1) continue;
      row.tensor_parallel = n;
      row.seconds = {row.seconds.forward / n, row.seconds.backward_input / n,
                     row.seconds.backward_weight / n};
      more.push_back(row);
    }
    l.rows.insert(l.rows.end(), more.begin(), more.end());
  }
}

/// Nodes of `devices` devices of kind "v" each: links of 1000 B/s and 0.5 s, uplinks of 100 B/s and
/// 1 s.
inline Cluster nodes_of(int nodes, int devices, double memory = 1e6) {
  Cluster cluster;
  cluster.name = "made";
  cluster.device_kinds = {{"v", memory, {}, 0.0}};
  NodeGroup group;
  group.kind = "node";
  group.count = nodes;
  group.device_kind = "v";
  group.num_devices = devices;
  group.link = {1000.0, 0.5};
  group.uplink = {100.0, 1.0};
  cluster.groups = {group};
  cluster.finish("made");
  return cluster;
}

/// Adds a node of `devices` devices of kind "t".
inline void add_slow_node(Cluster& cluster, int devices, double memory = 1e6) {
  cluster.device_kinds.push_back({"t", memory, {}, 0.0});
  NodeGroup group = cluster.groups.front();
  group.count = 1;
  group.device_kind = "t";
  group.num_devices = devices;
  cluster.groups.push_back(group);
  cluster.finish("made");
}

}  // namespace pptrain
