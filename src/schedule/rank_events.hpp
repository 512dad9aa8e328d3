#pragma once

#include <cstddef>
#include <vector>

namespace pptrain {

/// Times at which ranks look for a task, in order: in a sorted array, in which a new one is moved
/// forwards from the end. Few wait at a time and most new ones are late, so that it is faster than
/// a heap.
class RankEvents {
 public:
  struct Event {
    double when = 0.0;  ///< seconds
    int rank = 0;       ///< that looks
    int source = -1;    ///< of the event, as whoever pushes it numbers them
    /// By time, and of equal times by rank.
    bool operator<(const Event& other) const {
      return when < other.when || (when == other.when && rank < other.rank);
    }
  };

  void clear() {
    events_.clear();
    first_ = 0;
  }
  /// Whether `pop` has an event to return.
  bool any_left() const { return first_ < events_.size(); }
  /// Adds an event, which may be earlier than others that wait.
  void push(const Event& event) {
    std::size_t place = events_.size();
    events_.push_back(event);
    for (; place > first_ && event < events_[place - 1]; --place)
      events_[place] = events_[place - 1];
    events_[place] = event;
  }
  /// The earliest one; of equal ones that of the lowest rank.
  Event pop() {
    constexpr std::size_t most_taken = 1024;
    if (first_ == most_taken) {
      events_.erase(events_.begin(), events_.begin() + most_taken);
      first_ = 0;
    }
    return events_[first_++];
  }

 private:
  std::vector<Event> events_;
  std::size_t first_ = 0;  // that waits
};

}  // namespace pptrain
