#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "planners/frames/frame_divider.hpp"

namespace pptrain {

/// What waits in the queue of frames: a shape, a shape with a micro-batch size whose layers are to
/// be divided for the first schedule or for the other ones, or a frame with its layers divided.
struct WaitingFrame {
  enum class Rung { shape, first, others, division };
  double bound = 0.0;
  double likely = 0.0;      ///< the bound, or what is known to come beyond it too
  double estimate = 0.0;    ///< that, or what like frames came to
  std::int64_t number = 0;  ///< of equal estimates the one that came first goes first
  Rung rung = Rung::shape;
  int index = 0;  ///< of the shape, or of the costs
  FrameDivision division = {};
  bool told = false;  ///< whether a frame that is like it says what it may take
  /// Whether `other` leaves the queue first.
  bool operator>(const WaitingFrame& other) const {
    return estimate != other.estimate ? estimate > other.estimate : number > other.number;
  }
};

/// Frames by what they are estimated to take, less what cannot be better than the best plan.
///
/// Links are what a bound knows least of, and much the same for frames of one shape and micro-batch
/// size. The first of these that is simulated, and the first one of each number of chunks,
/// therefore tell how much more than their bounds the others may take; until then the others are
/// held back. What the first one itself may take is said by those of other shapes that had its
/// schedule and ZeRO stage: by how much they were above their bounds.
class FrameQueue {
 public:
  /// Frames whose bound is `limit` seconds or more are dropped.
  explicit FrameQueue(double limit) : limit_(limit) {}
  /// Drops frames, also those in the queue, whose bound is this many seconds or more.
  void set_limit(double limit) { limit_ = limit; }

  /// Adds a frame unless its bound is the limit or more; divisions and `others` may wait for a
  /// `tell` or `release`.
  void push(WaitingFrame waiting);
  /// Whether anything is left that may be better.
  bool any_left();
  /// The next one; `any_left` has said that there is one.
  WaitingFrame pop();
  /// As `any_left` of divisions alone.
  bool any_division_left();
  /// The next division; `any_division_left` has said that there is one.
  WaitingFrame pop_division();
  /// What a frame that was popped came to beyond what was likely.
  void tell(const WaitingFrame& simulated, double more);
  /// Lets the frames go that wait for one which is not simulated, as if it had come to so much
  /// beyond what was likely.
  void release(const WaitingFrame& waiting, double more);

 private:
  struct Siblings {
    std::vector<WaitingFrame> held;
    std::optional<double> more;  ///< seconds beyond what was likely
    bool simulated = false;      ///< whether a simulation says so
  };

  using Queue = std::priority_queue<WaitingFrame, std::vector<WaitingFrame>, std::greater<>>;

  Queue& next_queue();
  bool settle_first(Queue& queue);
  static WaitingFrame pop(Queue& queue);
  Queue& queue_of(const WaitingFrame& waiting);
  void push_division(WaitingFrame waiting);
  void push_others(WaitingFrame waiting);
  void enqueue(WaitingFrame waiting);
  void release(const WaitingFrame& frame, double more, bool simulated);
  void learn(const WaitingFrame& simulated, double more);
  double usual_ratio(const WaitingFrame& waiting) const;
  void drop(const WaitingFrame& waiting);

  double limit_;
  Queue divisions_;
  Queue undivided_;
  std::map<std::pair<int, int>, Siblings> siblings_;  // by costs and chunks per stage, 0: of all
                                                      // numbers
  struct Ratios {
    double sum = 0.0;
    int count = 0;
  };
  std::map<std::pair<std::string, std::size_t>, Ratios> ratios_;  // of time to what was likely, by
                                                                  // schedule and ZeRO stage
  Ratios all_ratios_;
  std::int64_t next_number_ = 0;
};

}  // namespace pptrain
