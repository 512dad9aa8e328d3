#pragma once

#include <vector>

#include "base/infinity.hpp"
#include "planners/frames/frame_costs.hpp"

namespace pptrain {

/// Costs the divisions of one frame.
class ScheduledCost {
 public:
  /// A time, and how much more than its memory the fullest device needs by the closed form, as a part of it; 0 where
  /// all fit. Divisions that fit come before those that do not.
  struct Cost {
    double overrun = 0.0;
    double seconds = 0.0;
    double waits = 0.0;  ///< seconds, about, that stages wait for each other because their chunks are unlike
    bool below(const Cost& other) const {
      constexpr double slack = 1.0 - 1e-9;
      if (overrun > 0.0 || other.overrun > 0.0) return overrun < other.overrun * slack;
      return seconds + waits < (other.seconds + other.waits) * slack;
    }
  };

  /// `costs` must outlive it.
  ScheduledCost(const FrameCosts& costs, const ScheduleChoice& schedule, const FrameModes& modes);

  int num_chunks() const { return static_cast<int>(stage_of_.size()); }
  /// Whether the schedule has B and W apart.
  bool splits() const { return split_; }
  int stage_of(int chunk) const { return stage_of_[static_cast<std::size_t>(chunk)]; }
  const FrameCosts& costs() const { return costs_; }

  /// What the plan takes at least in any order of its schedule. For each stage: the first micro-batch's F on its way
  /// there; all its work, or what ZeRO moves beside that where it is more; then the last micro-batch's B on its way
  /// to the first stage, and sums of gradients that nothing hides. Beside that what one micro-batch takes through all
  /// chunks and back, and what all of them send over the busiest uplink. Last the optimizer step. `chunks` are the
  /// layers of the chunks in order.
  Cost of(const std::vector<Interval>& chunks);
  /// The same without the path of one micro-batch and the uplinks, which other divisions change little: no more.
  Cost of_stages(const std::vector<Interval>& chunks);

  /// What a stage recomputes with the chunks that were costed last.
  Recompute recompute_of(int stage) const;

 private:
  /// What the chunks of a stage add up to.
  struct Held {
    double work[2] = {0.0, 0.0};         ///< seconds of a micro-batch, without and with F again
    double stored[2] = {0.0, 0.0};       ///< bytes of a sample
    double weight = 0.0;                 ///< seconds of W
    double update = 0.0;                 ///< seconds of the optimizer step
    double parameters = 0.0;             ///< of one member of a tensor-parallel group
    double least_parameters = infinity;  ///< of the chunk that has fewest
  };

  void add(int stage, const Interval& layers);
  double waits() const;
  double uplink_seconds(const std::vector<Interval>& chunks) const;
  double path_seconds(const std::vector<Interval>& chunks) const;
  double overrun(int stage, bool again) const;
  bool computes_again(int stage) const;
  double seconds_left(const StageKind& kind, double parameters) const;
  double seconds_each(const StageKind& kind, const Held& held, bool again) const;

  const FrameCosts& costs_;
  FrameModes modes_;
  BytesPerParameter bytes_;
  double micro_batches_;
  bool split_;  // whether B and W are apart
  int per_stage_;
  std::vector<int> stage_of_;       // by chunk
  std::vector<double> in_flight_;   // micro-batches stored, by stage
  std::vector<Held> held_;          // by stage, of the chunks that were costed last
  std::vector<double> chunk_work_;  // seconds of a micro-batch in each chunk
};

/// The division with about the least cost: from `start`, or where that is empty from even work, by steps of single
/// layers over one or several cuts for as long as one of them helps.
std::vector<Interval> divided_layers(ScheduledCost& cost, std::vector<Interval> start = {});

}  // namespace pptrain
