#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pptrain {

/// How many micro-batches a stage stores at most, by the number of stages behind it: for searches that place stages
/// from the last one to the first, under the schedules for which nothing else counts
/// (`ScheduleKind::planned_stage_by_stage`).
class InFlight {
 public:
  /// Of pipelines of `most_stages` stages at most, one at least.
  InFlight(const std::string& schedule, std::int64_t micro_batches, int most_stages);

  /// With `num_stages` behind it, `most_stages` at most.
  double behind(int num_stages) const { return stored_[num_stages]; }
  /// Behind so many stages one stores as much as any of these pipelines has it.
  int most_behind() const { return most_behind_; }

 private:
  std::vector<double> stored_;  // by stages behind
  int most_behind_ = 0;
};

}  // namespace pptrain
