#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace pptrain {

/// Times at which ranks look for a task, in order. An event that is pushed right after a `pop` takes the place of the
/// one that was taken, so that the others move once for both.
class RankEvents {
 public:
  using Event = std::pair<double, int>;  // seconds, and the rank

  void clear() {
    heap_.clear();
    taken_ = false;
  }
  /// Whether `pop` has an event to return.
  bool any_left() const { return heap_.size() > (taken_ ? 1 : 0); }
  /// Adds an event, which may be earlier than others that wait.
  void push(const Event& event) {
    if (taken_) {
      taken_ = false;
      put_first(event);
    } else {
      heap_.push_back(event);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
  }
  /// The earliest one; of equal ones that of the lowest rank.
  Event pop() {
    if (taken_) {
      const Event last = heap_.back();
      heap_.pop_back();
      put_first(last);
    }
    taken_ = true;
    return heap_.front();
  }

 private:
  /// Replaces the first one.
  void put_first(const Event& event) {
    const std::size_t size = heap_.size();
    std::size_t place = 0;
    for (std::size_t child = 1; child < size; child = 2 * place + 1) {
      if (child + 1 < size && heap_[child + 1] < heap_[child]) ++child;
      if (event <= heap_[child]) break;
      heap_[place] = heap_[child];
      place = child;
    }
    heap_[place] = event;
  }

  std::vector<Event> heap_;
  bool taken_ = false;  // the first one
};

}  // namespace pptrain
