#include "program/trace.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

namespace pptrain {
namespace {

int thread_of(Lane lane) { return lane == Lane::compute ? 0 : 1; }

nlohmann::ordered_json name_event(const char* kind, int process, int thread, const std::string& name) {
  return {{"name", kind}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
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
  constexpr double microseconds = 1e6;
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  std::set<DeviceId> devices;
  for (const TraceEvent& event : trace) devices.insert(event.device);
  for (const DeviceId device : devices) {
    events.push_back(name_event("process_name", device.value, 0, fmt::format("device {}", device.value)));
    events.push_back(name_event("thread_name", device.value, thread_of(Lane::compute), "compute"));
    events.push_back(name_event("thread_name", device.value, thread_of(Lane::communication), "communication"));
  }
  for (const TraceEvent& event : trace) {
    events.push_back({{"name", to_string(event.instruction)},
                      {"ph", "X"},
                      {"pid", event.device.value},
                      {"tid", thread_of(event.lane)},
                      {"ts", event.begin * microseconds},
                      {"dur", (event.end - event.begin) * microseconds}});
  }
  return document(events);
}

}  // namespace pptrain
