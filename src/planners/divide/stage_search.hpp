#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "planners/divide/in_flight.hpp"
#include "planners/divide/stage_counts.hpp"
#include "planners/divide/stage_label.hpp"
#include "planners/meshes/cut_cost.hpp"
#include "planners/meshes/frontier.hpp"
#include "planners/meshes/stage_mesh.hpp"

namespace pptrain {

/// One way to give devices to a stage.
struct StageMove {
  int mesh = 0;   ///< index of `DeviceStates::mesh`
  int state = 0;  ///< which devices are used afterwards
};

/// How devices may be given to stages one after another, from the last stage to the first. A state
/// says which devices the stages so far use; states are numbered from 0, which is none.
class DeviceStates {
 public:
  virtual ~DeviceStates() = default;
  /// Devices that a move gives to a stage, by `StageMove::mesh`.
  virtual const StageMesh& mesh(int index) const = 0;
  /// Meshes are numbered from 0 to this - 1.
  virtual int num_meshes() const = 0;
  /// What the stage before those of the state can be given, as the first one if `last` is false.
  virtual const std::vector<StageMove>& moves(int state) = 0;
  /// Whether a pipeline may end with these devices used.
  virtual bool complete(int state) const = 0;
  /// Devices that are not used.
  virtual int num_left(int state) const = 0;
};

/// A stage of a chain that was found.
struct FoundStage {
  int mesh = 0;
  int option = 0;
  Interval layers;
};

/// A division of the layers over meshes.
struct StageChain {
  std::int64_t micro_batch = 0;
  double seconds = 0.0;  ///< AMP Eq. 4
  std::vector<FoundStage> stages;
};

/// What a labelled state must agree in before one label can make another needless.
enum class Merging {
  exact,  ///< the next stage's mesh too, on which the cut between the two depends
  close,  ///< the devices used alone; the cut is taken into account only once both its ends are
          ///< known
};

/// Finds the chain of stages with least AMP Eq. 4,
/// (m-1) max t_i + sum t_i + sum e_i + max gradient all-reduce,
/// over all contiguous divisions of the layers and all meshes that `states` allow, for one
/// micro-batch size: a dynamic programme from the last stage to the first over (layers left,
/// devices used), with Pareto labels (sum, max t, max all-reduce, number of stages) as in AMP's
/// layer division. Labels that cannot end below `limit` are dropped.
class StageSearch {
 public:
  StageSearch(const SearchSpace& space, LayerSums& sums, DeviceStates& states, Merging merging,
              Shares shares);

  /// The best chain faster than `limit` seconds; nothing when there is none.
  std::optional<StageChain> search(std::int64_t micro_batch, double limit);
  /// Whether the last search was ended by the stop.
  bool stopped() const { return stopped_; }
  /// Stages that were put before chains of others, over all searches.
  std::int64_t num_examined() const { return num_examined_; }

  /// The chain as a plan.
  Plan plan_of(const StageChain& chain);

 private:
  struct Label : StageLabel {
    int num_stages = 0;
    int mesh = -1;   // of the first stage
    int option = 0;  // of the first stage
    int end = 0;     // of the first stage
    int next = -1;   // label of the following stages
  };
  struct Frontier {
    int state = 0;
    std::vector<int> labels;
  };

  /// What a stage costs, whichever stages follow it, where so many of its micro-batches are under
  /// way.
  struct StagePrice {
    double in_flight = 0.0;
    std::optional<int> option;  ///< the fastest that fits; nothing: none does
    double seconds = 0.0;
    double gradient_seconds = 0.0;
  };

  void start(std::int64_t micro_batch, double limit);
  const MeshCost* cost(int mesh);
  void find_least_layers();
  void expand(const Frontier& frontier);
  void extend(const Frontier& frontier, const StageMove& move, const MeshCost& mine);
  const StagePrice& price(int begin, double in_flight, const MeshCost& mine);
  bool prepend(int begin, int next, const StageMove& move, const MeshCost& mine);
  bool may_win(const Label& label, int begin, int state) const;
  void insert(int begin, int state, const Label& label);
  double cut_seconds(int sender, int receiver, int boundary);
  StageChain chain_of(int label) const;

  const SearchSpace& space_;
  LayerSums& sums_;
  DeviceStates& states_;
  Merging merging_;
  Shares shares_;
  std::vector<StageOption> options_;
  StageCounts counts_;
  bool stopped_ = false;
  std::int64_t num_examined_ = 0;

  // These belong to the current micro-batch size.
  std::int64_t micro_batch_ = 0;
  PipelineForm form_ = PipelineForm(1.0);
  std::optional<InFlight> in_flight_;
  double limit_ = 0.0;
  int best_ = -1;
  int frontier_end_ = 0;                          // layers from here on are divided already
  std::vector<std::unique_ptr<MeshCost>> costs_;  // of each mesh; null: not asked for, or too few
                                                  // samples
  std::vector<bool> asked_;
  std::unordered_map<std::int64_t, CutCost> cuts_;
  std::vector<StagePrice> prices_;     // of the stage that is being put before labels
  std::vector<double> least_seconds_;  // of the first l layers, at any mesh's fastest
  std::vector<double> least_work_;     // of the first l layers, in device-seconds
  LabelPool<Label> labels_;
  std::vector<std::map<std::int64_t, Frontier>> frontiers_;  // [first layer]
};

}  // namespace pptrain
