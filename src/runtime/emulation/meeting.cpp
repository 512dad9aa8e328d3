#include "runtime/emulation/meeting.hpp"

#include <algorithm>

namespace pptrain {

Meeting::Meeting(Transport& transport, const std::vector<RankId>& others, int tag, double time)
    : time_(time), times_(others.size()) {
  for (std::size_t i = 0; i < others.size(); ++i) {
    pending_.push_back(transport.send(others[i], tag, &time_, sizeof(time_)));
    pending_.push_back(transport.receive(others[i], tag, &times_[i], sizeof(times_[i])));
  }
}

bool Meeting::test() {
  while (!pending_.empty() && pending_.back()->test()) pending_.pop_back();
  return pending_.empty();
}

std::string Meeting::missing() const {
  return pending_.empty() ? "nobody" : pending_.back()->missing();
}

double Meeting::last() const {
  double last = time_;
  for (const double time : times_) last = std::max(last, time);
  return last;
}

}  // namespace pptrain
