#pragma once

#include <cstdint>
#include <vector>

#include "planners/divide/stage_counts.hpp"
#include "planners/published/dapple/dapple_bounds.hpp"

namespace pptrain {

/// A stage of a pipeline that was found.
struct DappleStage {
  int replicas = 1;
  PlacementPolicy policy = PlacementPolicy::append_first;
  Interval layers;
};

/// A pipeline of two or more stages.
struct DapplePipeline {
  double seconds = 0.0;  ///< DAPPLE Eq. 1-3 up to rounding
  std::vector<DappleStage> stages;
};

/// How much a search keeps.
struct DappleSearchLimits {
  double seconds = 0.0;         ///< pipelines that take longer are of no interest
  std::size_t most_labels = 0;  ///< per placed stage and layer, the most promising ones; 0: all
                                ///< that are needed
};

/// Finds the pipelines of two or more stages with least DAPPLE Eq. 1-3 for one micro-batch size: a
/// dynamic programme over (first layer, placed stage) from the last stage to the first, as Eq. 4-5
/// of the paper run from the first to the last, but exact.
///
/// With w_s = F_s + B_s and the pivot Q, Eq. 1-2 are
///     L = [M w_Q + sum_{s<Q} w_s] + max_s (AR_s - sum_{a<s} B_a),
/// where the second term does not depend on Q. So a stage in front of others changes what they add
/// to L through three numbers alone: the first term, the second, and what (M-1) w_s must exceed for
/// the pivot to move to s by Eq. 3, (M-1) w_Q + sum_{s<k<Q} w_k. Smaller is never worse in any of
/// them, whatever comes in front, so that labels with three such numbers, no one of them smaller
/// than another's in all three, give the optimum. Where memory limits the micro-batches in flight,
/// fewer stages are a fourth.
class DappleSearch {
 public:
  DappleSearch(const SearchSpace& space, DappleCosts& costs, int most_stages);

  /// The best pipelines that are not slower than the limit, best first, few of them.
  std::vector<DapplePipeline> search(const DappleSearchLimits& limits);
  bool stopped() const { return stopped_; }  ///< whether the stop has ended a search
  /// Ends of pipelines that the searches have costed so far.
  std::int64_t num_examined() const { return num_examined_; }

 private:
  /// Stages from some first layer to the last layer.
  struct Label {
    double ending = 0.0;   ///< max over the stages s of AR_s - sum of B of the stages between the
                           ///< first one and s
    double steady = 0.0;   ///< (M-1) w_Q
    double between = 0.0;  ///< w of the stages before the pivot
    double pivot = 0.0;    ///< w_Q
    int num_stages = 0;    ///< computation stages
    int end = 0;           ///< layers of the first one end here
    int next = -1;   ///< index among the followers of its placed stage; -1: it is the last one
    int label = -1;  ///< of that follower, in the pool
    double promise = 0.0;  ///< what a pipeline that ends like this may take
    /// Seconds that (M-1) w_s of a stage in front must exceed for the pivot to move there.
    double threshold() const { return steady + between; }
    /// DAPPLE Eq. 1-2 of these stages alone.
    double seconds() const { return threshold() + pivot + ending; }
  };
  using Labels = std::vector<Label>;
  /// Labels in the pool.
  struct Range {
    int first = 0;
    int count = 0;
  };

  void expand(int stage);
  void put_last(int stage);
  void put_before(int stage, int end);
  void find_tails(int stage);
  void prepend(Label& label, double forward, double backward, double all_reduce) const;
  int first_begin(int stage) const;
  int last_begin(int stage, int end) const;
  bool may_win(Label& label, const DappleBounds::Least& before) const;
  bool covers(const Label& a, const Label& b) const;
  void offer(int stage, int begin, Label label);
  void insert(Labels& labels, const Label& label) const;
  void keep(int stage);
  const Range& range(int stage, int begin) const {
    return ranges_[static_cast<std::size_t>(stage) * num_layers_ + begin];
  }
  std::vector<DapplePipeline> best_pipelines() const;
  DapplePipeline pipeline_of(int first, const Label& label) const;

  const SearchSpace& space_;
  DappleCosts& costs_;
  DappleBounds bounds_;
  const std::vector<PlacedStage>& stages_;
  int num_layers_;
  int num_devices_;
  int most_stages_;
  double repeats_;  // M - 1
  StageCounts counts_;
  DappleSearchLimits limits_;
  double limit_ = 0.0;
  std::vector<int> order_;  // placed stages, those with fewest devices left first
  std::vector<Label> pool_;
  std::vector<Range> ranges_;   // of each placed stage, by first layer
  std::vector<Labels> tails_;   // of the current placed stage: what comes behind it, by its end
  std::vector<Labels> labels_;  // of the current placed stage: by its first layer
  bool stopped_ = false;
  std::int64_t num_examined_ = 0;
};

}  // namespace pptrain
