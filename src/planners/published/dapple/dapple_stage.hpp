#pragma once

#include <cstdint>
#include <vector>

#include "planners/ask/planner.hpp"
#include "planners/meshes/placement_graph.hpp"
#include "planners/published/dapple/transfer_cost.hpp"

namespace pptrain {

/// A computation stage of DAPPLE's line with some interval of layers.
struct DappleStageCost {
  double forward = 0.0;
  double backward = 0.0;
  double all_reduce = 0.0;
  double most_in_flight = 0.0;  ///< micro-batches whose activations fit on all its devices, up to
                                ///< those of interest
  double both() const { return forward + backward; }  ///< F + B, in seconds
};

/// What the cost of a stage depends on beside its layers.
struct DappleStageShape {
  /// Replicas that take equally long.
  struct Part {
    int kind = 0;
    std::int64_t samples = 0;
    auto operator<=>(const Part&) const = default;
  };
  std::vector<Part> parts;  ///< ascending, each once
  int replicas = 1;
  double bandwidth = 0.0;  ///< of the slowest link between two of them
  double latency = 0.0;
  auto operator<=>(const DappleStageShape&) const = default;
};

/// The shape of a stage with one device per replica and the samples divided evenly.
DappleStageShape dapple_stage_shape(const GroupLinks& links, const PlacedStage& stage,
                                    std::int64_t micro_batch);

/// Costs of all intervals of layers on stages of one shape. Sums are taken in the order in which
/// `dapple_seconds` takes them, so that it finds two stages equal where they are equal here.
class DappleStageTable {
 public:
  /// `in_flight`: micro-batches in flight that are of interest at most.
  DappleStageTable(const SearchSpace& space, const DappleStageShape& shape, double in_flight);

  /// Costs of a stage with layers [begin, end), at least one layer.
  const DappleStageCost& of(int begin, int end) const { return costs_[row(begin) + end - 1]; }
  /// F + B of one layer over the samples of a part of the shape.
  double seconds_per_sample(std::size_t part, int layer) const {
    const auto& [forward, backward] = seconds_[part][layer];
    return (forward + backward) / static_cast<double>(shape_.parts[part].samples);
  }

 private:
  /// Rows are as long as layers are left.
  std::size_t row(int begin) const {
    return static_cast<std::size_t>(begin) * num_layers_ -
           static_cast<std::size_t>(begin) * (begin + 1) / 2;
  }
  void fill(const SearchSpace& space, int begin, double in_flight);
  double most_in_flight(const SearchSpace& space, double parameters, double stored,
                        double in_flight) const;

  int num_layers_;
  DappleStageShape shape_;
  Stage choices_;  // replicas, recomputation, ZeRO stage
  std::vector<std::vector<std::pair<double, double>>> seconds_;  // [part][layer]: F and B
  std::vector<DappleStageCost> costs_;
};

}  // namespace pptrain
