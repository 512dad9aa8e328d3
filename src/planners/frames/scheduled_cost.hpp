#pragma once

#include <array>
#include <vector>

#include "base/infinity.hpp"
#include "cost/state_slices.hpp"
#include "planners/frames/frame_costs.hpp"

namespace pptrain {

/// Costs the divisions of one frame.
class ScheduledCost {
 public:
  /// A time, and how much more than its memory the fullest device needs by the closed form, as a
  /// part of it; 0 where all fit. Divisions that fit come before those that do not.
  struct Cost {
    double overrun = 0.0;
    double seconds = 0.0;
    int slowest = 0;     ///< the stage that decides the time, or that lacks most memory
    double waits = 0.0;  ///< seconds, about, that stages wait for each other because their chunks
                         ///< are unlike
    /// Whether it is better by more than rounding: by the overrun where either has one, else by
    /// seconds and waits.
    bool below(const Cost& other) const {
      constexpr double slack = 1.0 - 1e-9;
      if (overrun > 0.0 || other.overrun > 0.0) return overrun < other.overrun * slack;
      return seconds + waits < (other.seconds + other.waits) * slack;
    }
  };

  /// `costs` must outlive it.
  ScheduledCost(const FrameCosts& costs, const ScheduleChoice& schedule, const FrameModes& modes);

  /// Whether each stage holds one chunk.
  bool has_single_chunks() const { return per_stage_ == 1; }
  int num_chunks() const {
    return static_cast<int>(stage_of_.size());
  }  ///< chunks of all stages together
  /// Whether the schedule has B and W apart.
  bool splits() const { return split_; }
  /// Stage that holds a chunk; chunks are numbered from 0 in the order of their layers.
  int stage_of(int chunk) const { return stage_of_[static_cast<std::size_t>(chunk)]; }
  const FrameCosts& costs() const { return costs_; }  ///< the costs given to the constructor

  /// What the plan takes at least in any order of its schedule. For each stage: the first
  /// micro-batch's F on its way there; all its work, or what ZeRO moves beside that where it is
  /// more; then the last micro-batch's B on its way to the first stage, and sums of gradients that
  /// nothing hides. Beside that what one micro-batch takes through all chunks and back, and what
  /// all of them send over the busiest uplink, or all sums of gradients. Last the optimizer step.
  /// `chunks` are the layers of the chunks in order.
  Cost of(const std::vector<Interval>& chunks);
  /// What the plan takes at least by its stages alone, which is no more than `of` says: without the
  /// path of one micro-batch, the uplinks and all sums of gradients, which other divisions change
  /// little.
  Cost of_stages(const std::vector<Interval>& chunks);
  /// Goes back to the division that was costed before the last one, so that another one near it
  /// costs little.
  void undo();
  /// Seconds of all micro-batches on a stage: `of_stages` gives no less, and takes longer.
  double least_seconds(int stage, const std::vector<Interval>& chunks) const;

  /// Micro-batches that each stage stores.
  const std::vector<double>& in_flight() const { return in_flight_; }
  /// Whether memory may do for any division: false only where layers that may be cut into parts
  /// would not fit either.
  bool may_fit() const;

  /// How many divisions were costed so far.
  long num_costed() const { return num_costed_; }

  /// The ZeRO stage of a stage with the chunks that were costed last.
  int zero_stage_of(int stage) const { return terms_[static_cast<std::size_t>(stage)].zero_stage; }
  /// What a stage recomputes with the chunks that were costed last.
  Recompute recompute_of(int stage) const;
  /// The slices of what ZeRO divides on a stage with the chunks that were costed last; empty: equal
  /// ones.
  std::vector<Interval> slices_of(int stage) const;

 private:
  /// What a chunk costs, or the chunks of a stage together.
  struct Held {
    double work[2] = {0.0, 0.0};    ///< seconds of a micro-batch, without and with F again
    double forward = 0.0;           ///< of that F, the first time
    double stored[2] = {0.0, 0.0};  ///< bytes of a sample
    double moment[2] = {0.0, 0.0};  ///< bytes of a sample beside it while the layer runs that needs
                                    ///< most
    double weight = 0.0;            ///< seconds of W
    double update = 0.0;            ///< seconds of the optimizer step
    double parameters = 0.0;        ///< of one member of a tensor-parallel group
    double least_parameters = infinity;  ///< of the chunk that has fewest
    /// Adds another chunk of the same stage.
    void add(const Held& other);
  };
  /// What a stage takes, whatever the others do; seconds.
  struct StageTerms {
    bool again = false;  ///< whether F is computed again
    int zero_stage = 0;
    double overrun = 0.0;
    double largest_slice = 1.0;  ///< of what ZeRO divides, as a multiple of an equal one
    double work = 0.0;           ///< all micro-batches on it, and what is left behind them
    double last_backward = 0.0;  ///< until its last B ends, once it has begun
    double forward = 0.0;        ///< F of its first chunk, and the cut behind it
    // The weights of the first F come from the step before, so that at the earliest:
    double begun = 0.0;  ///< when F of the slowest replica may have begun that goes on from then on
    double handed = 0.0;        ///< when F and the cut are behind the first micro-batch
    double backward = 0.0;      ///< B of its first chunk, and that cut
    double first_weight = 0.0;  ///< W of its first chunk, where it may wait
    double left = 0.0;          ///< sums of the first chunk's gradients behind the last W
    double update = 0.0;
  };

  /// What a division had in place of the next one, which `undo` brings back.
  struct ReplacedPart {
    std::size_t number = 0;  ///< of the chunk
    Interval layers;
    Held held;
  };
  struct ReplacedStage {
    std::size_t number = 0;
    Held held;
    StageTerms terms;
  };

  /// A micro-batch in a chunk and over the cut behind it, on the fastest replica; seconds.
  struct ChunkPass {
    double forward = 0.0;
    double backward = 0.0;  ///< without W where that may wait
    double cut = 0.0;       ///< one way
  };

  /// Whether a stage fits, and by which slices of what ZeRO divides.
  struct Fit {
    double overrun = 0.0;
    double largest_slice = 1.0;  ///< as a multiple of an equal one
  };
  /// Bytes of a device beside its state of the model.
  struct BesideState {
    double fixed = 0.0;
    double per_sample = 0.0;
    /// Bytes where a replica has so many samples of a micro-batch.
    double bytes(double samples) const { return fixed + samples * per_sample; }
  };
  /// Bytes of the state of a parameter.
  struct State {
    double kept = 0.0;     ///< what every replica has
    double divided = 0.0;  ///< what ZeRO divides
  };

  /// Brings what is kept of stages up to date for these chunks.
  void hold(const std::vector<Interval>& chunks);
  // Results are written where they stay: copies of what was just written make processors wait.
  void set_part(int stage, const Interval& layers, Held& held) const;
  void set_terms(int stage, StageTerms& terms) const;
  double waits() const;
  double uplink_seconds(const std::vector<Interval>& chunks) const;
  double summing_seconds() const;
  std::vector<double> sums_begin() const;
  double path_seconds() const;
  ChunkPass pass_of(int chunk, const std::vector<Interval>& chunks) const;
  double state_bytes(int stage, int zero_stage) const;
  Fit fit(int stage, bool again, int zero_stage) const;
  bool may_have_slices(int stage, int zero_stage) const;
  Fit fit_by_slices(int stage, const BesideState& beside, int zero_stage) const;
  BesideState beside_state(int stage, bool again) const;
  double least_bytes(int stage, const StageKind::Holder& holder, int layer) const;
  double most_measured(int stage, const StageKind::Holder& holder,
                       const StageKind::Holder& measure) const;
  bool may_compute_again() const;
  int strongest_zero() const;
  const std::vector<double>& stored_sums(int stage, bool again) const;
  bool computes_again(int stage) const;
  std::size_t mode(bool again) const;
  double seconds_left(const StageKind& kind, double parameters, const StageTerms& terms) const;
  double seconds_each(int stage, const StageTerms& terms) const;

  const FrameCosts& costs_;
  FrameModes modes_;
  BytesPerParameter bytes_;
  std::array<State, 4> state_;                 // by ZeRO stage
  mutable std::vector<SliceRoom> rooms_ = {};  // of the holders of a stage, while it is looked at
  double micro_batches_;
  bool split_;  // whether B and W are apart
  int per_stage_;
  std::vector<int> stage_of_;                // by chunk
  std::vector<std::vector<int>> chunks_of_;  // by stage
  std::vector<double> in_flight_;            // micro-batches stored, by stage
  // Costs of the chunks that were costed last: most divisions differ from the one before in a few.
  std::vector<Interval> chunks_;
  std::vector<Held> parts_;        // by chunk
  std::vector<ChunkPass> passes_;  // by chunk, of what `of` was asked for last
  std::vector<Held> held_;         // by stage
  std::vector<StageTerms> terms_;  // by stage
  long num_costed_ = 0;
  std::vector<char> changed_;  // by stage; while they are brought up to date
  std::vector<ReplacedPart> replaced_parts_;
  std::vector<ReplacedStage> replaced_stages_;
};

/// The division with about the least cost: from `start`, or where that is empty from even work, by
/// steps for as long as one of them helps. A step takes a layer off the slowest stage over one or
/// several cuts, or moves any single cut, of few chunks several that follow one another too.
std::vector<Interval> divided_layers(ScheduledCost& cost, std::vector<Interval> start = {});

}  // namespace pptrain
