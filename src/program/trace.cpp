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

}  // namespace

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
  return nlohmann::ordered_json{{"displayTimeUnit", "ms"}, {"traceEvents", events}}.dump() + "\n";
}

}  // namespace pptrain
