#pragma once

#include <cstdint>
#include <vector>

#include "planners/layout.hpp"

namespace pptrain {

/// Division of the layers over the stages of one grid with one micro-batch size: what each stage
/// costs with layers [begin, end). AMP Eq. 4 is
/// (m-1) max stage_seconds + sum stage_seconds + sum cut_seconds + max gradient_seconds.
class DivisionProblem {
 public:
  /// `samples`: of a micro-batch on one replica.
  DivisionProblem(const Instance& instance, const GridLayout& layout, std::int64_t samples,
                  const std::string& schedule);

  int num_stages() const { return static_cast<int>(stages_.size()); }
  int num_layers() const { return static_cast<int>(parameters_.size()) - 1; }
  /// m - 1: how often the slowest stage counts once more.
  double repeats() const { return repeats_; }

  double stage_seconds(int stage, int begin, int end) const;
  double gradient_seconds(int stage, int begin, int end) const;
  /// Of the cut after layer `end - 1`, which is the last one of `stage`.
  double cut_seconds(int stage, int end) const;
  /// Bytes that a device of the stage needs over those it has; above 1 it does not fit.
  double memory_use(int stage, int begin, int end) const;
  bool fits(int stage, int begin, int end) const { return memory_use(stage, begin, end) <= 1.0; }

  /// Eq. 4 of a division.
  double iteration_seconds(const std::vector<Interval>& layers) const;
  bool fits(const std::vector<Interval>& layers) const;

 private:
  struct StageCost {
    std::vector<int> times;  ///< indices into times_, one per distinct kind of replica
    double in_flight = 1.0;
  };

  int times_of(const Instance& instance, ReplicaGroup group);

  GridLayout layout_;
  double samples_;
  double repeats_;
  double model_bytes_;     ///< per parameter: weight, gradient, optimizer
  double gradient_bytes_;  ///< per parameter
  double workspace_;
  std::vector<StageCost> stages_;
  std::vector<ReplicaGroup> groups_;
  std::vector<std::vector<double>> times_;  ///< of each of groups_: seconds of the first l layers
  std::vector<double> parameters_;          ///< of the first l layers
  std::vector<double> stored_;              ///< bytes per sample of the first l layers
  std::vector<double> output_;              ///< bytes per sample out of layer l
};

}  // namespace pptrain
