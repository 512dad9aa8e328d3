#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/infinity.hpp"
#include "config/schedule_kinds.hpp"
#include "planners/frames/scheduled_cost.hpp"

namespace pptrain {

/// A frame with its layers divided.
struct FrameDivision {
  double bound = 0.0;   ///< seconds; `ScheduledCost` of it
  double likely = 0.0;  ///< with its waits
  ScheduleChoice schedule;
  std::size_t rule = 0;  ///< index into `recompute_rules`
  std::size_t zero = 0;  ///< index into the ZeRO stages; their number where stages have those that
                         ///< they need
  std::vector<Interval> chunks;
  std::vector<Recompute> recompute;                ///< of each stage
  std::vector<int> zero_stages;                    ///< of each stage
  std::vector<std::vector<Interval>> zero_slices;  ///< of each stage; empty: equal ones
  bool by_peaks = false;                           ///< whether the slices are by simulated peaks
};

/// Divides the layers of the frames of one shape and micro-batch size, for every schedule and what
/// saves memory.
class FrameDivider {
 public:
  /// Divisions that take `limit` seconds at least are left out. Space and costs must outlive it.
  FrameDivider(const SearchSpace& space, const FrameCosts& costs, double limit);

  /// Divisions for the first schedule, or for all others, with as little that saves memory as fits
  /// by the closed form.
  std::vector<FrameDivision> first();
  /// Divisions for every schedule but the first, made as `first` makes them.
  std::vector<FrameDivision> others();
  /// Divisions that save more memory than one that did not fit in the simulator.
  std::vector<FrameDivision> after(const FrameDivision& refused);

  /// Divisions with the schedule and the recomputation of a division, and every other ZeRO stage.
  std::vector<FrameDivision> with_other_zeros(const FrameDivision& division);

  /// The division that comes nearest to fitting, where one does not, and what its fullest device
  /// needs more than it has, as a part of that.
  const std::optional<FrameDivision>& nearest() const { return nearest_; }
  /// What `nearest` lacks, as a part of the memory; infinite without it.
  double least_overrun() const { return least_overrun_; }
  /// What the divisions cost, in simulated tasks.
  double work() const { return work_; }

 private:
  std::vector<FrameDivision> of(std::size_t begin, std::size_t end);
  bool is_needless(const ScheduleChoice& schedule) const;
  void from(const ScheduleChoice& schedule, std::size_t rule, std::size_t zero);
  void from_all(const ScheduleChoice& schedule, std::size_t rule, std::size_t zero);
  static void divide(ScheduledCost& cost, std::vector<Interval>& known);
  using Stores = std::vector<std::vector<double>>;  // micro-batches by stage, of some schedules
  static bool stores_no_less(const ScheduledCost& cost, const Stores& others);
  /// Keeps a division that fits, or only what comes nearest to fitting.
  enum class Keep { fitting, nearest };
  /// Whether all stages have the same ZeRO stage, or those that need it a stronger one.
  enum class Zero { equal, by_need };
  std::optional<double> add(const ScheduleChoice& schedule, std::size_t rule, std::size_t zero,
                            Keep keep = Keep::fitting, Zero zeros = Zero::equal);
  bool has_unlike_zeros() const;

  const SearchSpace& space_;
  const FrameCosts& costs_;
  double limit_;
  std::vector<ScheduleChoice> schedules_;
  std::vector<RecomputeRule> rules_;
  std::vector<int> zeros_;
  double recomputing_seconds_;  ///< no division takes less where all layers are computed again
  bool shares_cores_ = false;
  std::map<std::tuple<bool, int, ChunkPlacement>, std::vector<Interval>> divisions_;  // where the
                                                                                      // next one
                                                                                      // starts
  /// What was stored with schedules of so many chunks, a rule and a ZeRO stage that did not fit:
  /// what stores as much or more does not either.
  std::map<std::tuple<int, ChunkPlacement, std::size_t, std::size_t>, Stores> too_much_;
  std::vector<FrameDivision> made_;
  std::optional<FrameDivision> nearest_;
  double least_overrun_ = infinity;
  double work_ = 0.0;
};

/// The plan of a division, without predictions.
Plan plan_of(const SearchSpace& space, const FrameCosts& costs, const FrameDivision& division);

}  // namespace pptrain
