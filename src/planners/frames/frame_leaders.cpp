#include "planners/frames/frame_leaders.hpp"

#include <algorithm>
#include <utility>

#include "planners/frames/leaders.hpp"

namespace pptrain {

void FrameLeaders::set_twins(int costs, int other) {
  twins_[costs] = other;
  twins_[other] = costs;
}

FrameLeaders::Key FrameLeaders::key_of(const WaitingFrame& frame) const {
  const auto twin = twins_.find(frame.index);
  const int index = twin == twins_.end() ? frame.index : std::min(frame.index, twin->second);
  return {index, frame.division.schedule.virtual_stages, by_zero_ ? frame.division.zero : 0};
}

void FrameLeaders::take(const WaitingFrame& frame, TriedPlan tried) {
  const auto [entry, is_first] = leaders_.try_emplace(key_of(frame));
  Leader& leader = entry->second;
  if (is_first || tried.seconds < leader.tried.seconds) leader = {std::move(tried), frame};
}

void FrameLeaders::add_if_faster(const WaitingFrame& frame, TriedPlan tried) {
  if (tried.seconds < leaders_.at(key_of(frame)).tried.seconds) varied_.push_back(std::move(tried));
}

std::vector<const FrameLeaders::Leader*> FrameLeaders::best(std::size_t most) const {
  std::vector<const Leader*> best;
  for (const auto& [key, leader] : leaders_) best.push_back(&leader);
  std::stable_sort(best.begin(), best.end(), [](const Leader* a, const Leader* b) {
    return a->tried.seconds < b->tried.seconds;
  });
  if (best.size() > most) best.resize(most);
  return best;
}

std::vector<TriedPlan> FrameLeaders::take_plans() {
  std::vector<TriedPlan> plans;
  for (auto& [key, leader] : std::exchange(leaders_, {})) plans.push_back(std::move(leader.tried));
  for (TriedPlan& tried : std::exchange(varied_, {})) plans.push_back(std::move(tried));
  sort_leaders(plans);
  return plans;
}

}  // namespace pptrain
