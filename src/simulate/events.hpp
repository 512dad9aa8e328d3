#pragma once

#include <cstdint>
#include <queue>
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
  void push(double time, Event::Kind kind, int index, std::uint32_t version = 0) {
    events_.push({time, sequence_++, kind, index, version});
  }
  bool empty() const { return events_.empty(); }
  double next_time() const { return events_.top().time; }
  Event pop() {
    const Event event = events_.top();
    events_.pop();
    return event;
  }

 private:
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t sequence_ = 0;
};

}  // namespace pptrain
