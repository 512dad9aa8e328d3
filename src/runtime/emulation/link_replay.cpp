#include "runtime/emulation/link_replay.hpp"

#include <algorithm>
#include <limits>

namespace pptrain {
namespace {

/// Ranks that share cores append what they sent some milliseconds late at most.
constexpr double slack_seconds = 0.02;

}  // namespace

std::optional<double> LinkReplay::arrived(std::uint64_t number, double now) {
  read_log();
  if (number >= next_) return std::nullopt;
  settle(now - slack_seconds);
  const double time = predicted(number);
  if (time > now) return std::nullopt;
  settled_arrivals_.erase(transfer_of(number));
  latencies_.erase(transfer_of(number));
  return time;
}

void LinkReplay::read_log() {
  for (next_ = std::max(next_, log_.oldest()); next_ < log_.size(); ++next_) {
    const std::optional<SentBytes> entry = log_.read(next_);
    if (!entry) return;
    const auto after = std::find_if(recent_.rbegin(), recent_.rend(), [&](const Sent& other) {
      return other.what.begin <= entry->begin;
    });
    recent_.insert(after.base(), {next_, *entry});
    if (DeviceId(entry->to) != receiver_) continue;
    latencies_[transfer_of(next_)] = cluster_.latency(DeviceId(entry->from), receiver_);
  }
}

void LinkReplay::settle(double horizon) {
  while (!recent_.empty() && recent_.front().what.begin <= horizon) {
    send(settled_, recent_.front(), settled_arrivals_);
    recent_.pop_front();
  }
  play(settled_, horizon, settled_arrivals_);
}

void LinkReplay::play(Links& links, double until, Arrivals& arrivals) const {
  while (!links.events.empty() && links.events.next_time() <= until) {
    const Event event = links.events.pop();
    const int transfer = links.network.handle(event);
    const auto own = latencies_.find(transfer);
    if (own != latencies_.end()) arrivals[transfer] = event.time + own->second;
  }
  links.time = std::max(links.time, until);
}

void LinkReplay::send(Links& links, const Sent& sent, Arrivals& arrivals) const {
  const double begin = std::max(sent.what.begin, links.time);
  play(links, begin, arrivals);
  const int route = links.routes.route(DeviceId(sent.what.from), DeviceId(sent.what.to));
  links.network.start(begin, route, sent.what.bytes, transfer_of(sent.number));
}

double LinkReplay::predicted(std::uint64_t number) {
  const auto known = settled_arrivals_.find(transfer_of(number));
  if (known != settled_arrivals_.end()) return known->second;
  if (prediction_.next == next_ && prediction_.number == number) return prediction_.time;
  Links links = settled_;
  Arrivals arrivals;
  for (const Sent& sent : recent_) send(links, sent, arrivals);
  play(links, std::numeric_limits<double>::infinity(), arrivals);
  // An entry that was written over before it was read is long past.
  const auto found = arrivals.find(transfer_of(number));
  prediction_ = {number, next_, found == arrivals.end() ? 0.0 : found->second};
  return prediction_.time;
}

}  // namespace pptrain
