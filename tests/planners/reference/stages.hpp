#pragma once

// Small things that the files of the plain cost model share.

#include <algorithm>
#include <vector>

#include "planners/reference/cost.hpp"

namespace pptrain::reference {

/// Sum of what `value` gives for each layer of an interval.
template <class Value>
double sum_over_layers(Interval layers, Value value) {
  double sum = 0.0;
  for (auto layer = layers.begin; layer < layers.end; ++layer)
    sum += value(static_cast<int>(layer));
  return sum;
}

/// What one pair of a cut carries.
struct Transfer {
  DeviceId from;
  DeviceId to;
  double bytes = 0.0;
};

/// Every pair of senders and receivers whose samples overlap: at equal degrees those of equal shard
/// index, else all.
inline std::vector<Transfer> transfers(const Part& from, const Part& to, double bytes_per_sample) {
  std::vector<Transfer> result;
  for (int a = 0; a < from.num_replicas(); ++a) {
    for (int b = 0; b < to.num_replicas(); ++b) {
      const auto begin = std::max(from.samples[a].begin, to.samples[b].begin);
      const auto end = std::min(from.samples[a].end, to.samples[b].end);
      if (begin >= end) continue;
      for (int i = 0; i < from.degree(); ++i) {
        for (int k = 0; k < to.degree(); ++k) {
          if (from.degree() == to.degree() && i != k) continue;
          result.push_back({from.devices[a][i], to.devices[b][k],
                            static_cast<double>(end - begin) * bytes_per_sample});
        }
      }
    }
  }
  return result;
}

}  // namespace pptrain::reference
