#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "planners/divide/in_flight.hpp"
#include "planners/published/dapple/dapple_stage.hpp"

namespace pptrain {

/// All terms of `dapple_seconds` for the stages of a placement graph with one micro-batch size.
class DappleCosts {
 public:
  /// `most_stages`: of a plan.
  DappleCosts(const SearchSpace& space, const PlacementGraph& graph, std::int64_t micro_batch,
              int most_stages);

  const PlacementGraph& graph() const { return graph_; }  ///< the graph given to the constructor
  std::int64_t micro_batch() const {
    return micro_batch_;
  }  ///< samples, of all replicas of a stage together
  double micro_batches() const { return micro_batches_; }  ///< M: micro-batches of one iteration

  /// Micro-batches that a stage holds when there are `num_stages` stages from it to the last one.
  double in_flight(int num_stages) const { return in_flight_.behind(num_stages - 1); }
  /// Whether some interval of layers fits with few micro-batches in flight but not with many.
  bool memory_limits_stages() const { return memory_limits_stages_; }

  /// Whether each replica of the stage gets a sample.
  bool possible(int stage) const { return tables_[stage] != nullptr; }
  /// Costs of a placed stage, which must be `possible`, with layers [begin, end).
  const DappleStageCost& stage(int stage, int begin, int end) const {
    return tables_[stage]->of(begin, end);
  }
  /// F, and B too, of the communication stage from a stage to its `next`-th follower, which must be
  /// possible both, by the last layer before it.
  const std::vector<double>& transfer_seconds(int stage, std::size_t next);

  /// Costs of the possible stages by shape.
  const std::map<DappleStageShape, DappleStageTable>& tables() const { return known_; }

 private:
  const DappleStageTable* table_of(const SearchSpace& space, const PlacedStage& stage);

  const PlacementGraph& graph_;
  GroupLinks links_;
  std::int64_t micro_batch_;
  double micro_batches_;
  InFlight in_flight_;
  bool memory_limits_stages_ = false;
  std::map<DappleStageShape, DappleStageTable> known_;
  std::vector<const DappleStageTable*> tables_;                     // of each stage
  std::map<TransferLoads, std::vector<double>> known_transfers_;    // seconds behind each layer
  std::vector<std::vector<const std::vector<double>*>> transfers_;  // of each stage, to each
                                                                    // follower
  std::vector<double> output_bytes_;                                // per sample, of each layer
};

}  // namespace pptrain
