#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "planners/divide/in_flight.hpp"
#include "planners/divide/stage_counts.hpp"
#include "planners/divide/stage_label.hpp"
#include "planners/meshes/frontier.hpp"
#include "planners/published/alpa/mesh_cuts.hpp"
#include "planners/published/alpa/sharding_labels.hpp"

namespace pptrain {

/// A plan of Alpa's space: stages in layer order.
struct AlpaChoice {
  struct Part {
    Interval layers;
    const MeshDivision* division = nullptr;
  };
  struct ChosenStage {
    int begin = 0;  ///< first device
    std::vector<Part> parts;
  };
  double seconds = 0.0;  ///< AMP Eq. 4
  std::vector<ChosenStage> stages;
};

/// Alpa's inter-operator dynamic programme for one micro-batch size: contiguous layers over a
/// sequence of sub-meshes that together are the whole cluster in device order, the divisions of the
/// layers inside each stage by `ShardingLabels`. It minimises AMP Eq. 4 as a whole, (m-1) max t_i +
/// sum t_i + sum e_i + max all-reduce.
///
/// Labels go from the last stage to the first. Two relaxations, solved first over (layers, devices)
/// from the other side, say what the earlier stages cost at least; labels that cannot end below a
/// limit are dropped. Both leave memory but layer by layer, and most of the cuts, out; one has
/// every stage's t_i and all-reduce count by the share of the cluster's speed that it has (a
/// weighted mean is at most the maximum), the other t_i once.
class AlpaSearch {
 public:
  AlpaSearch(const SearchSpace& space, LayerSums& sums, const SubMeshes& meshes,
             std::int64_t micro_batch);

  std::int64_t micro_batch() const {
    return micro_batch_;
  }  ///< samples, of all replicas of a stage together
  /// No plan takes less; infinite when there is none.
  double least_seconds() const;
  /// The best plan faster than `limit`; nothing when there is none, or when stopped. With `slack`
  /// above 0 stages that are better than others by less than so many seconds are left out: sooner
  /// some plan, not the best.
  std::optional<AlpaChoice> search(double limit, double slack = 0.0);
  bool stopped() const { return stopped_; }  ///< whether the stop ended the last search
  /// Ends of pipelines that the last search compared with others.
  std::int64_t num_examined() const { return num_examined_; }

 private:
  /// One of the relaxations.
  struct Relaxation {
    std::vector<StageWeights> weights;        // of each mesh class
    std::vector<std::vector<double>> stages;  // of each mesh class: [begin][end]
    std::vector<std::vector<double>> before;  // [device][layer]: layers before on devices before,
                                              // with the cut behind
  };
  /// Stages from some layer and device on.
  struct Label : StageLabel {
    double shared_seconds = 0.0;    // sum of t_i, each times its stage's share
    double shared_reduction = 0.0;  // sum of all-reduces likewise
    int num_stages = 0;
    int end = 0;  // of the first stage
    int mesh_class = -1;
    int head = 0;   // division of the first layer
    int run = -1;   // of the first stage
    int next = -1;  // label of the following stages
  };
  /// What says whether a label covers another one at its layer and device. Labels there are
  /// compared all the time, so these lie side by side.
  struct Standing {
    StageLabel seconds;
    double with_cut = 0.0;  // the sum, with what the cut in front may take longer than another
                            // label's
    int num_stages = 0;
    int mesh_class = -1;
    int head = 0;
    int label = 0;
  };
  /// What a stage asks of a label behind it.
  struct Next {
    StageLabel seconds;
    double shared_seconds = 0.0;
    double shared_reduction = 0.0;
    int num_stages = 0;
    int label = 0;
    int head = 0;  // index into the candidate's cuts
  };
  /// A sub-mesh that may become the stage before labels at (layer, end of the sub-mesh).
  struct Candidate {
    int begin = 0;
    int end = 0;
    std::vector<Next> all;   // labels at the end
    std::vector<Next> next;  // of these, those that leave as many micro-batches in flight as the
                             // goal has
    std::vector<std::vector<double>> cuts;  // [head][tail]
  };
  /// Candidates of one mesh class for stages that end at one layer.
  struct Group {
    std::vector<Candidate> candidates;
    std::vector<double> rest;  // as in ShardingGoal
  };

  void relax(Relaxation& relaxation) const;
  double mean_bound(const Label& label) const;

  void extend(int end);
  void collect(int end, int mesh_end, std::vector<Group>& groups) const;
  void add_stages(int end, int mesh_class, Group& group);
  void find_cuts(int end, int mesh_class, Candidate& candidate);
  void find_next(double in_flight, Candidate& candidate) const;
  void prepend(const Group& group, const ShardingGoal& goal, int mesh_class, int begin,
               const ShardingOption& option);
  void insert(int layer, int place, const Label& label);
  bool covers(const Standing& a, const Standing& b) const;
  Standing standing_of(const Label& label, int layer, int place) const;
  AlpaChoice choice_of(const Label& label) const;

  const SearchSpace& space_;
  LayerSums& sums_;
  const SubMeshes& meshes_;
  std::int64_t micro_batch_;
  PipelineForm form_;
  InFlight in_flight_;
  std::vector<std::unique_ptr<ShardingCost>> costs_;  // of each mesh class; null: no division has
                                                      // enough samples
  MeshCuts cuts_;
  std::vector<std::vector<std::pair<int, int>>> to_;  // sub-meshes that end at a place: begin,
                                                      // class
  Relaxation mean_;
  Relaxation sum_;
  Link slowest_;  // of the cluster
  StageCounts counts_ = StageCounts::fewer();

  // These belong to the current search.
  double limit_ = 0.0;
  double slack_ = 0.0;
  bool stopped_ = false;
  std::int64_t num_examined_ = 0;
  std::vector<ShardingRun> runs_;
  LabelPool<Label> labels_;
  std::vector<std::vector<std::vector<Standing>>> at_;  // [layer][place]: labels
  int best_ = -1;
};

}  // namespace pptrain
