#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "planners/frames/frame_divider.hpp"

namespace pptrain {

/// What waits in the queue of frames: a shape, a shape with a micro-batch size, or a frame with its layers divided.
struct WaitingFrame {
  enum class Rung { shape, costs, division };
  double bound = 0.0;
  double estimate = 0.0;    ///< the bound, or what like frames came to
  std::int64_t number = 0;  ///< of equal estimates the one that came first goes first
  Rung rung = Rung::shape;
  int index = 0;  ///< of the shape, or of the costs
  FrameDivision division = {};
  bool operator>(const WaitingFrame& other) const {
    return estimate != other.estimate ? estimate > other.estimate : number > other.number;
  }
};

/// Frames by what they are estimated to take, less what cannot be better than the best plan.
///
/// Links are what a bound knows least of, and much the same for frames of one shape and micro-batch size. The first of
/// these that is simulated, and the first one of each number of chunks, therefore tell how much more than their bounds
/// the others may take; until then the others are held back.
class FrameQueue {
 public:
  /// Frames whose bound is `limit` seconds or more are dropped.
  explicit FrameQueue(double limit) : limit_(limit) {}
  void set_limit(double limit) { limit_ = limit; }

  void push(WaitingFrame waiting);
  /// Whether anything is left that may be better.
  bool any_left();
  /// The next one; there must be one.
  WaitingFrame pop();
  /// What a frame that was popped came to beyond its bound.
  void tell(const WaitingFrame& simulated, double more);

 private:
  struct Siblings {
    std::vector<WaitingFrame> held;
    std::optional<double> more;  ///< seconds beyond the bound
  };

  void push_division(WaitingFrame waiting);
  void enqueue(WaitingFrame waiting);
  void drop(const WaitingFrame& waiting);

  double limit_;
  std::priority_queue<WaitingFrame, std::vector<WaitingFrame>, std::greater<>> queue_;
  std::map<std::pair<int, int>, Siblings> siblings_;  // by costs and chunks per stage, 0: of all numbers
  std::int64_t next_number_ = 0;
};

}  // namespace pptrain
