#include "runtime/emulation/emulated_lane.hpp"

#include <algorithm>

namespace pptrain {
namespace {

class CollectiveEnds final : public Pending {
 public:
  CollectiveEnds(EmulatedLane& lane, std::shared_ptr<EmulatedCollective> collective)
      : lane_(lane), collective_(std::move(collective)) {}

  bool test() override {
    lane_.progress();
    if (!collective_->end || *collective_->end > EmulatedClock::host()) return false;
    lane_.clock().reach(*collective_->end);
    return true;
  }
  std::string missing() const override { return collective_->meeting.missing(); }

 private:
  EmulatedLane& lane_;
  std::shared_ptr<EmulatedCollective> collective_;
};

}  // namespace

PendingPtr EmulatedLane::start(const std::vector<RankId>& others, double seconds, int tag) {
  auto collective = std::shared_ptr<EmulatedCollective>(
      new EmulatedCollective{Meeting(meetings_, others, tag, clock_.now()), seconds});
  open_.push_back(collective);
  return std::make_unique<CollectiveEnds>(*this, std::move(collective));
}

void EmulatedLane::progress() {
  while (!open_.empty() && open_.front()->meeting.test()) {
    EmulatedCollective& first = *open_.front();
    free_ = std::max(first.meeting.last(), free_) + first.seconds;
    first.end = free_;
    open_.pop_front();
  }
}

}  // namespace pptrain
