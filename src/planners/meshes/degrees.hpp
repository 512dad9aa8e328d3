#pragma once

#include <set>
#include <utility>
#include <vector>

#include "cost/cost.hpp"

namespace pptrain {

/// Tensor-parallel degrees at which each device kind has every layer of the profile.
class Degrees {
 public:
  explicit Degrees(const Instance& instance) {
    const std::vector<int> degrees = instance.profile.degrees();
    for (std::size_t kind = 0; kind < instance.cluster.device_kinds.size(); ++kind) {
      for (const int n : degrees) {
        if (instance.profile.has_degree(instance.cluster.device_kinds[kind].name, n)) {
          known_.emplace(static_cast<int>(kind), n);
        }
      }
    }
  }

  /// Whether all layers have rows for the kind, an index into the kinds of the cluster, at this
  /// degree.
  bool has(int kind, int tensor_parallel) const {
    return known_.count({kind, tensor_parallel}) > 0;
  }

 private:
  std::set<std::pair<int, int>> known_;
};

}  // namespace pptrain
