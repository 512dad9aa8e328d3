#include "planners/frames/frame_queue.hpp"

#include "config/schedule_kinds.hpp"

namespace pptrain {
namespace {

/// How much of what the bound of a frame's first sibling lacked its own bound lacks, as a rule:
/// zero-bubble orders hide more of it, and units of ZeroPP wait for each other.
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
  if (waiting.rung == WaitingFrame::Rung::others) return push_others(std::move(waiting));
  enqueue(std::move(waiting));
}

/// The first of its siblings goes to the queue, the others wait for what it comes to.
void FrameQueue::push_division(WaitingFrame waiting) {
  for (const int chunks : {0, waiting.division.schedule.virtual_stages}) {
    const auto [entry, is_first] = siblings_.try_emplace({waiting.index, chunks});
    Siblings& siblings = entry->second;
    if (siblings.more) {
      waiting.told = siblings.simulated;
      waiting.estimate = waiting.likely + share_of(waiting.division.schedule) * *siblings.more;
    } else if (!is_first) {
      siblings.held.push_back(std::move(waiting));
      return;
    }
  }
  enqueue(std::move(waiting));
}

/// Other schedules lack a part of what the first one lacks, beyond a bound that holds for all of
/// them.
void FrameQueue::push_others(WaitingFrame waiting) {
  constexpr double share = 0.5;
  Siblings& siblings = siblings_[{waiting.index, 0}];
  if (!siblings.more) {
    siblings.held.push_back(std::move(waiting));
    return;
  }
  waiting.told = siblings.simulated;
  waiting.estimate = waiting.likely + share * *siblings.more;
  enqueue(std::move(waiting));
}

void FrameQueue::enqueue(WaitingFrame waiting) {
  if (waiting.bound >= limit_) return drop(waiting);
  waiting.number = next_number_++;
  queue_of(waiting).push(std::move(waiting));
}

/// Leaves out a frame whose bound is above the limit. Its siblings, whose bounds may be below, no
/// longer wait.
void FrameQueue::drop(const WaitingFrame& waiting) {
  constexpr double guess = 0.1;  // of what is likely, for what it lacks
  if (waiting.rung == WaitingFrame::Rung::division) release(waiting, guess * waiting.likely);
}

/// Time over what was likely of frames with the schedule and ZeRO stage, on average, or of all
/// frames before a schedule is known. Without any the time is what is likely.
double FrameQueue::usual_ratio(const WaitingFrame& waiting) const {
  const auto average = [](const Ratios& ratios) {
    return (1.0 + ratios.sum) / (1.0 + ratios.count);
  };
  if (waiting.rung == WaitingFrame::Rung::others) return average(all_ratios_);
  const auto found = ratios_.find({waiting.division.schedule.name, waiting.division.zero});
  return found == ratios_.end() ? 1.0 : average(found->second);
}

void FrameQueue::learn(const WaitingFrame& simulated, double more) {
  const double ratio = 1.0 + more / simulated.likely;
  constexpr double most_ratio = 1e6;
  if (!(ratio < most_ratio))
    return;  // the frame has next to no work, so its ratio says nothing of others
  for (Ratios* ratios :
       {&all_ratios_, &ratios_[{simulated.division.schedule.name, simulated.division.zero}]}) {
    ratios->sum += ratio;
    ++ratios->count;
  }
}

void FrameQueue::tell(const WaitingFrame& simulated, double more) {
  learn(simulated, more);
  release(simulated, more, true);
}

void FrameQueue::release(const WaitingFrame& waiting, double more) {
  release(waiting, more, false);
}

/// Lets the siblings of a frame go that waited for it.
void FrameQueue::release(const WaitingFrame& frame, double more, bool simulated) {
  for (const int chunks : {0, frame.division.schedule.virtual_stages}) {
    Siblings& siblings = siblings_[{frame.index, chunks}];
    if (siblings.more) continue;
    siblings.more = more;
    siblings.simulated = simulated;
    for (WaitingFrame& waiting : std::exchange(siblings.held, {})) push(std::move(waiting));
  }
}

FrameQueue::Queue& FrameQueue::queue_of(const WaitingFrame& waiting) {
  return waiting.rung == WaitingFrame::Rung::division ? divisions_ : undivided_;
}

/// The queue whose first frame leaves before that of the other one.
FrameQueue::Queue& FrameQueue::next_queue() {
  if (divisions_.empty()) return undivided_;
  if (undivided_.empty()) return divisions_;
  return undivided_.top() > divisions_.top() ? divisions_ : undivided_;
}

bool FrameQueue::any_left() {
  while (!next_queue().empty()) {
    if (settle_first(next_queue())) return true;
  }
  return false;
}

bool FrameQueue::any_division_left() {
  while (!divisions_.empty()) {
    if (settle_first(divisions_)) return true;
  }
  return false;
}

/// Drops the first frame of a queue where it cannot be better, and puts it back where it was
/// learned to take longer than it was thought to. Returns whether it does neither, so that it
/// leaves next.
bool FrameQueue::settle_first(Queue& queue) {
  const WaitingFrame& top = queue.top();
  if (top.bound >= limit_) {
    drop(pop(queue));
    return false;
  }
  const bool unknown =
      top.rung == WaitingFrame::Rung::division || top.rung == WaitingFrame::Rung::others;
  if (!unknown || top.told) return true;
  const double estimate = top.likely * usual_ratio(top);
  if (!(estimate > top.estimate)) return true;  // nor where one of them is no number
  WaitingFrame waiting = pop(queue);
  waiting.estimate = estimate;
  queue.push(std::move(waiting));
  return false;
}

WaitingFrame FrameQueue::pop(Queue& queue) {
  WaitingFrame front = queue.top();
  queue.pop();
  return front;
}

WaitingFrame FrameQueue::pop() { return pop(next_queue()); }

WaitingFrame FrameQueue::pop_division() { return pop(divisions_); }

}  // namespace pptrain
