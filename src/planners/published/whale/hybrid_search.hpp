#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "planners/published/whale/annotations.hpp"
#include "planners/published/whale/best_plan.hpp"
#include "planners/published/whale/shared_stage.hpp"

namespace pptrain {

/// Searches plans of one stage in which the same devices divide some layers differently from the
/// others (Whale's Example 2), for the least AMP Eq. 4.
class HybridSearch {
 public:
  /// `times` belong to the same instance.
  HybridSearch(const SearchSpace& space, SampleTimes& times) : space_(space), times_(times) {}

  /// One run of layers at another degree than the rest: every run, degrees, micro-batch size and
  /// order of the devices. Plans that take `limit` or more are left out, and so are all where the
  /// replicas or the degree are fixed, which holds for every layer.
  void search_runs(double limit);
  /// The annotated parts, replicated and split, on the same devices; layers between them go where
  /// they take less.
  void search_annotated(const AnnotatedModel& model);

  const BestPlan& best() const { return best_; }  ///< the best plan of all searches so far
  bool complete() const { return complete_; }     ///< false: the stop cut a search short
  /// Plans that were made and offered to `best`, over all searches.
  std::int64_t num_examined() const { return num_examined_; }
  /// What of the annotated parts does not fit, and by how much.
  const std::string& why_not() const { return why_not_; }

 private:
  /// Meshes of the same devices at two degrees.
  struct Pair {
    StageMesh base;
    StageMesh runs;
    int order = 0;
  };
  /// A stage of one run, or of several, that is worth making.
  struct Choice {
    double seconds = 0.0;  ///< Eq. 4
    std::vector<Interval> runs;
  };

  std::deque<Pair> pairs(int base, int runs, const std::vector<DeviceId>& devices, int order);
  void search_runs_of(const Pair& pair, double limit);
  void search_runs_of(const SharedStage& stage, const Pair& pair, std::int64_t micro_batch,
                      double limit);
  std::vector<Choice> fastest_runs(const SharedStage& stage, int tensor_parallel,
                                   double micro_batches, double limit);
  void search_annotated(const AnnotatedModel& model, const Pair& pair, std::int64_t micro_batch,
                        StageOption option);
  double in_flight(std::int64_t micro_batch) const;
  double seconds(const SharedStage::Cost& cost, std::int64_t micro_batch) const;
  Interval all_layers() const { return {0, space_.instance.profile.num_layers()}; }
  bool offer(const Pair& pair, std::int64_t micro_batch, std::optional<Stage> stage);

  const SearchSpace& space_;
  SampleTimes& times_;
  BestPlan best_;
  bool complete_ = true;
  std::int64_t num_examined_ = 0;
  std::string why_not_;
  double least_use_ = 0.0;  // of `why_not_`
};

}  // namespace pptrain
