#include "planners/frames/frame_queue.hpp"

#include "config/schedule_kinds.hpp"

namespace pptrain {
namespace {

/// How much of what the bound of a frame's first sibling lacked its own bound lacks, as a rule: zero-bubble orders hide
/// more of it, and units of ZeroPP wait for each other.
double share_of(const ScheduleChoice& schedule) {
  const ScheduleKind& kind = schedule_kind(schedule.name);
  if (kind.has_units) return 1.5;
  if (schedule.virtual_stages > 1) return 0.8;
  if (kind.search == OrderSearch::improved_if_short) return 0.2;
  return kind.search == OrderSearch::improved ? 0.6 : 0.8;
}

}  // namespace

void FrameQueue::push(WaitingFrame waiting) {
  if (waiting.rung == WaitingFrame::Rung::division) return push_division(std::move(waiting));
  enqueue(std::move(waiting));
}

/// The first of its siblings goes to the queue, the others wait for what it comes to.
void FrameQueue::push_division(WaitingFrame waiting) {
  for (const int chunks : {0, waiting.division.schedule.virtual_stages}) {
    const auto [entry, is_first] = siblings_.try_emplace({waiting.index, chunks});
    Siblings& siblings = entry->second;
    if (siblings.more) {
      waiting.estimate = waiting.bound + share_of(waiting.division.schedule) * *siblings.more;
    } else if (!is_first) {
      siblings.held.push_back(std::move(waiting));
      return;
    }
  }
  enqueue(std::move(waiting));
}

void FrameQueue::enqueue(WaitingFrame waiting) {
  if (waiting.bound >= limit_) return drop(waiting);
  waiting.number = next_number_++;
  queue_.push(std::move(waiting));
}

/// Leaves out a frame whose bound is above the limit. Its siblings, whose bounds may be below, no longer wait.
void FrameQueue::drop(const WaitingFrame& waiting) {
  constexpr double guess = 0.1;  // of a bound, for what it lacks
  if (waiting.rung == WaitingFrame::Rung::division) tell(waiting, guess * waiting.bound);
}

void FrameQueue::tell(const WaitingFrame& simulated, double more) {
  for (const int chunks : {0, simulated.division.schedule.virtual_stages}) {
    Siblings& siblings = siblings_.at({simulated.index, chunks});
    if (siblings.more) continue;
    siblings.more = more;
    for (WaitingFrame& waiting : std::exchange(siblings.held, {})) push_division(std::move(waiting));
  }
}

bool FrameQueue::any_left() {
  while (!queue_.empty() && queue_.top().bound >= limit_) drop(pop());
  return !queue_.empty();
}

WaitingFrame FrameQueue::pop() {
  WaitingFrame front = queue_.top();
  queue_.pop();
  return front;
}

}  // namespace pptrain
