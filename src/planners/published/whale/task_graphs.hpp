#pragma once

#include <limits>
#include <vector>

#include "cost/layer_sums.hpp"
#include "planners/ask/planner.hpp"

namespace pptrain {

/// One of Whale's TaskGraphs: a stage of a pipeline, replicated or split over its devices.
struct TaskGraph {
  int devices = 1;                                 ///< in one pipeline
  int tensor_parallel = 1;                         ///< of each replica
  Sharding sharding = Sharding::profiled;          ///< of its layers over the members
  int first_end = 0;                               ///< its layers end here at the earliest
  int last_end = std::numeric_limits<int>::max();  ///< its layers end here at the latest
};

/// TaskGraphs in a pipeline, and how often the whole pipeline is replicated (nested data
/// parallelism).
struct TaskGraphs {
  std::vector<TaskGraph> graphs;
  int pipelines = 1;

  /// Devices of each TaskGraph in one pipeline, as `virtual_devices` takes them.
  std::vector<int> devices() const;
  /// Replicas of a TaskGraph in all pipelines together.
  int replicas(int graph) const {
    return graphs[graph].devices / graphs[graph].tensor_parallel * pipelines;
  }
  /// Replicas of the TaskGraph that has most: the fewest samples that a micro-batch can have.
  int most_replicas() const;
};

/// Every number of equal TaskGraphs and every tensor-parallel degree of all of them that divides
/// the devices, has rows on every kind and is allowed.
std::vector<TaskGraphs> equal_task_graphs(const SearchSpace& space);

}  // namespace pptrain
