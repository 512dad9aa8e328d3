#pragma once

#include <algorithm>
#include <vector>

#include "plan/plan.hpp"

namespace pptrain::reference {

/// Sum of what `value` gives for each layer of the stage.
template <class Value>
double sum_over_layers(const Stage& stage, Value value) {
  double sum = 0.0;
  for (const Interval& chunk : stage.layers) {
    for (auto layer = chunk.begin; layer < chunk.end; ++layer) sum += value(static_cast<int>(layer));
  }
  return sum;
}

inline double samples_of(const Stage& stage, int replica) { return static_cast<double>(stage.samples[replica].size()); }

/// What one pair of a cut carries.
struct Transfer {
  DeviceId from;
  DeviceId to;
  double bytes = 0.0;
};

inline std::vector<Transfer> transfers(const Stage& from, const Stage& to, double bytes_per_sample) {
  std::vector<Transfer> result;
  for (int a = 0; a < from.replicas; ++a) {
    for (int b = 0; b < to.replicas; ++b) {
      const auto begin = std::max(from.samples[a].begin, to.samples[b].begin);
      const auto end = std::min(from.samples[a].end, to.samples[b].end);
      if (begin >= end) continue;
      for (int i = 0; i < from.tensor_parallel; ++i) {
        for (int k = 0; k < to.tensor_parallel; ++k) {
          if (from.tensor_parallel == to.tensor_parallel && i != k) continue;
          result.push_back({from.devices[a][i], to.devices[b][k], static_cast<double>(end - begin) * bytes_per_sample});
        }
      }
    }
  }
  return result;
}

inline int last_layer(const Stage& stage) { return static_cast<int>(stage.layers.back().end) - 1; }

inline std::vector<DeviceId> shard_group(const Stage& stage, int shard) {
  std::vector<DeviceId> group;
  for (int j = 0; j < stage.replicas; ++j) group.push_back(stage.devices[j][shard]);
  return group;
}

}  // namespace pptrain::reference
