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
  int first_end = 0;                               ///< its layers end here at the earliest,
  int last_end = std::numeric_limits<int>::max();  ///< and here at the latest
};

/// TaskGraphs in a pipeline, and how often the whole pipeline is replicated (nested data parallelism).
struct TaskGraphs {
  std::vector<TaskGraph> graphs;
  int pipelines = 1;

  std::vector<int> devices() const;
  int replicas(int graph) const { return graphs[graph].devices / graphs[graph].tensor_parallel * pipelines; }
  int most_replicas() const;
};

/// Every number of equal TaskGraphs and every tensor-parallel degree of all of them that divides the
/// devices, has rows on every kind and is allowed.
std::vector<TaskGraphs> equal_task_graphs(const SearchSpace& space);

}  // namespace pptrain
