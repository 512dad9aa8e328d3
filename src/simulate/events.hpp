#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace pptrain {

/// What happens next in a simulation.
struct Event {
  enum class Kind : std::uint8_t { resume, flow_end, share, arrival, reduction_end };
  double time = 0.0;
  std::uint64_t sequence = 0;  ///< of equal times, the one that was scheduled first comes first
  Kind kind = Kind::resume;
  int index = 0;              ///< program, flow, transfer or reduction
  std::uint32_t version = 0;  ///< of a flow
  bool operator>(const Event& other) const {
    return time != other.time ? time > other.time : sequence > other.sequence;
  }
};

/// Events in the order of time.
class EventQueue {
 public:
  /// Schedules an event at `time` in seconds. Of several at one time the one that was pushed first
  /// comes first.
  void push(double time, Event::Kind kind, int index, std::uint32_t version = 0) {
    events_.push_back({time, sequence_++, kind, index, version});
    std::push_heap(events_.begin(), events_.end(), std::greater<>());
  }
  bool empty() const { return events_.empty(); }
  /// Time of the next event in seconds; there must be one.
  double next_time() const { return events_.front().time; }
  /// Takes the next event out; there must be one.
  Event pop() {
    std::pop_heap(events_.begin(), events_.end(), std::greater<>());
    const Event event = events_.back();
    events_.pop_back();
    return event;
  }
  /// All that are scheduled, in no order.
  const std::vector<Event>& scheduled() const { return events_; }

 private:
  std::vector<Event> events_;  // a heap, the next on top
  std::uint64_t sequence_ = 0;
};

}  // namespace pptrain
