#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "planners/frames/frame_queue.hpp"
#include "planners/frames/frame_trials.hpp"

namespace pptrain {

/// The fastest plans of a search of frames: of each shape, micro-batch size and number of chunks
/// one leader, and what was found beside a leader.
class FrameLeaders {
 public:
  /// The fastest plan of some frames, and the frame that it is of.
  struct Leader {
    TriedPlan tried;
    WaitingFrame frame;
  };

  /// Each ZeRO stage has a leader of its own where `by_zero` is true.
  explicit FrameLeaders(bool by_zero) : by_zero_(by_zero) {}

  /// Makes frames of two costs share their leaders: they differ in the groups among which replicas
  /// divide the state.
  void set_twins(int costs, int other);
  bool has_twin(int costs) const {
    return twins_.contains(costs);
  }  ///< whether `set_twins` was told of these costs

  /// Takes a plan that fits where it is faster than its leader, or the first.
  void take(const WaitingFrame& frame, TriedPlan tried);
  /// Adds a plan that fits where it is faster than its leader, which stays: what is slower now may
  /// become the best by steps.
  void add_if_faster(const WaitingFrame& frame, TriedPlan tried);

  /// Whether there is no leader.
  bool empty() const { return leaders_.empty(); }
  /// The fastest leaders, at most so many, fastest first; valid until the next plan is taken.
  std::vector<const Leader*> best(std::size_t most) const;
  /// How many plans stand beside a leader.
  std::size_t num_varied() const { return varied_.size(); }
  /// Moves all plans out, fastest first.
  std::vector<TriedPlan> take_plans();

 private:
  using Key = std::tuple<int, int, std::size_t>;  // costs, chunks, ZeRO stage
  Key key_of(const WaitingFrame& frame) const;

  bool by_zero_;
  std::map<Key, Leader> leaders_;
  std::vector<TriedPlan> varied_;
  std::map<int, int> twins_;  // costs with all replicas as one group and with groups by node, both
                              // ways
};

}  // namespace pptrain
