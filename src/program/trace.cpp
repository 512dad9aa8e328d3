#include "program/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace pptrain {
namespace {

/// Events of one thread must not overlap but where one lies within another, or viewers draw them
/// wrongly. A device computes one thing at a time, in thread 0; of what it communicates at a time
/// each has a thread of its own.
class Threads {
 public:
  /// Events must be asked for by their begin.
  int of(const TraceEvent& event) {
    if (event.lane == Lane::compute) return 0;
    const auto is_free = [&](double end) { return end <= event.begin; };
    const auto free = std::find_if(ends_.begin(), ends_.end(), is_free);
    const auto thread = free - ends_.begin();
    if (free == ends_.end()) ends_.push_back(0.0);
    ends_[static_cast<std::size_t>(thread)] = event.end;
    return static_cast<int>(thread) + 1;
  }
  /// How many of communication; those that nothing is in are named too, so that all devices look
  /// alike.
  int num_communicating() const { return std::max(1, static_cast<int>(ends_.size())); }

 private:
  std::vector<double> ends_;  ///< of the last event of each thread of communication
};

nlohmann::ordered_json metadata(const char* kind, int process, int thread,
                                const nlohmann::ordered_json& arguments) {
  return {{"name", kind}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", arguments}};
}

void name_threads(nlohmann::ordered_json& events, int device, const Threads& threads) {
  events.push_back(
      metadata("process_name", device, 0, {{"name", fmt::format("device {}", device)}}));
  events.push_back(metadata("process_sort_index", device, 0, {{"sort_index", device}}));
  events.push_back(metadata("thread_name", device, 0, {{"name", "compute"}}));
  for (int t = 1; t <= threads.num_communicating(); ++t) {
    const std::string name = t == 1 ? "communication" : fmt::format("communication {}", t);
    events.push_back(metadata("thread_name", device, t, {{"name", name}}));
  }
}

/// Times are whole nanoseconds, so that what follows on an event does not begin before its end by a
/// rounding.
nlohmann::ordered_json duration_event(const TraceEvent& event, int thread) {
  const auto nanoseconds = [](double seconds) { return std::llround(seconds * 1e9); };
  const long long begin = nanoseconds(event.begin);
  const long long end = std::max(begin, nanoseconds(event.end));
  return {{"name", to_string(event.instruction)},
          {"cat", event.lane == Lane::compute ? "compute" : "communication"},
          {"ph", "X"},
          {"pid", event.device.value},
          {"tid", thread},
          {"ts", static_cast<double>(begin) / 1e3},
          {"dur", static_cast<double>(end - begin) / 1e3}};
}

std::string document(const nlohmann::ordered_json& events) {
  return nlohmann::ordered_json{{"displayTimeUnit", "ms"}, {"traceEvents", events}}.dump() + "\n";
}

}  // namespace

std::string merge_chrome_traces(const std::vector<std::string>& traces) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (const std::string& trace : traces) {
    nlohmann::ordered_json of_rank = nlohmann::ordered_json::parse(trace);
    for (auto& event : of_rank.at("traceEvents")) events.push_back(std::move(event));
  }
  return document(events);
}

std::string chrome_trace(const Trace& trace) {
  Trace sorted = trace;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const TraceEvent& a, const TraceEvent& b) { return a.begin < b.begin; });
  std::map<int, Threads> threads;  // by device
  nlohmann::ordered_json durations = nlohmann::ordered_json::array();
  for (const TraceEvent& event : sorted) {
    durations.push_back(duration_event(event, threads[event.device.value].of(event)));
  }
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (const auto& [device, of_device] : threads) name_threads(events, device, of_device);
  for (auto& event : durations) events.push_back(std::move(event));
  return document(events);
}

}  // namespace pptrain
