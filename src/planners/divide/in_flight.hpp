#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pptrain {

/// How many micro-batches a stage stores at most, by the number of stages behind it: for searches
/// that place stages from the last one to the first, under the schedules for which nothing else
/// counts (`ScheduleKind::planned_stage_by_stage`).
class InFlight {
 public:
  /// Pipelines have `most_stages` stages at most, which is 1 or more.
  InFlight(const std::string& schedule, std::int64_t micro_batches, int most_stages);

  /// Micro-batches of a stage with `num_stages` behind it, `most_stages` at most.
  double behind(int num_stages) const { return stored_[num_stages]; }
  /// A stage with so many behind it stores as much as any stage of these pipelines.
  int most_behind() const { return most_behind_; }

 private:
  std::vector<double> stored_;  // by stages behind
  int most_behind_ = 0;
};

}  // namespace pptrain
