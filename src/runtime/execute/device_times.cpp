#include "runtime/execute/device_times.hpp"

#include <utility>

#include "base/timing.hpp"

namespace pptrain {

DeviceTimes::DeviceTimes(Device& device, Waiter& waiter) : device_(device), waiter_(waiter) {
  if (!device.is_host()) waiter_.observe([this](WaitEdge edge) { observe(edge); });
}

DeviceTimes::~DeviceTimes() { waiter_.observe({}); }

void DeviceTimes::observe(WaitEdge edge) {
  if (edge == WaitEdge::begin) {
    uncounted_.push_back({device_.moment(), nullptr, WaitKind::communication});
  } else {
    // What goes on beside a wait may have waited itself: this one has the time of those.
    while (uncounted_.back().end != nullptr) uncounted_.pop_back();
    uncounted_.back().end = device_.moment();
  }
}

void DeviceTimes::start() {
  start_ = wall_seconds();
  if (!device_.is_host()) device_start_ = device_.moment();
  waiter_.take_seconds();  // what was waited between iterations is no wait of the program
  uncounted_.clear();
}

double DeviceTimes::host_seconds() const { return wall_seconds() - start_; }

DeviceTimes::Point DeviceTimes::now() {
  return {host_seconds(), device_.is_host() ? nullptr : device_.moment()};
}

double DeviceTimes::seconds(const Point& point) const {
  return point.moment == nullptr ? point.host_seconds : point.moment->seconds_since(*device_start_);
}

void DeviceTimes::count(WaitKind kind) {
  const double on_host = waiter_.take_seconds();
  if (device_.is_host()) host_waits_[static_cast<std::size_t>(kind)] += on_host;
  for (Wait& wait : uncounted_) wait.kind = kind;
  waits_.splice(waits_.end(), uncounted_);
}

double DeviceTimes::take(WaitKind kind) {
  double sum = std::exchange(host_waits_[static_cast<std::size_t>(kind)], 0.0);
  waits_.remove_if([&](Wait& wait) {
    const bool has_ended = wait.kind == kind && wait.end->has_ended();
    if (has_ended) sum += wait.end->seconds_since(*wait.begin);
    return has_ended;
  });
  return sum;
}

}  // namespace pptrain
