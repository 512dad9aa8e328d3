#include "report/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <regex>

namespace pptrain {
namespace {

constexpr double ticks = 1e5;

/// Collects tasks by device.
class Builder {
 public:
  explicit Builder(const std::vector<DeviceId>& devices) {
    timeline_.num_devices = static_cast<int>(devices.size());
    for (const DeviceId device : devices) {
      places_[device] = timeline_.rows.size();
      timeline_.rows.push_back({device, {}});
    }
  }
  void add(DeviceId device, const TimelineTask& task) {
    const auto place = places_.find(device);
    if (place == places_.end() || !(task.end > task.begin)) return;
    timeline_.rows[place->second].tasks.push_back(task);
    timeline_.seconds = std::max(timeline_.seconds, task.end);
  }
  Timeline take() {
    for (Timeline::Row& row : timeline_.rows) {
      std::stable_sort(row.tasks.begin(), row.tasks.end(), [](const TimelineTask& a, const TimelineTask& b) {
        const bool a_last = a.kind == TimelineTask::Kind::communication;
        const bool b_last = b.kind == TimelineTask::Kind::communication;
        return a_last != b_last ? b_last : a.begin < b.begin;
      });
    }
    return std::move(timeline_);
  }

 private:
  Timeline timeline_;
  std::map<DeviceId, std::size_t> places_;
};

std::optional<TimelineTask::Kind> kind_of(Op op) {
  switch (op) {
    case Op::forward: return TimelineTask::Kind::forward;
    case Op::backward:
    case Op::backward_input: return TimelineTask::Kind::backward;
    case Op::backward_weight: return TimelineTask::Kind::backward_weight;
    case Op::step: return TimelineTask::Kind::step;
    default: return std::nullopt;
  }
}

/// Of an event by its name, "F0.1", "BW0.1", "optimizer step".
TimelineTask task_named(const std::string& name, bool communicates) {
  static const std::regex pattern(R"((F|BW|B|W)(\d+)\.(\d+))");
  std::smatch match;
  if (!communicates && std::regex_match(name, match, pattern)) {
    const auto kind = match[1] == "F"   ? TimelineTask::Kind::forward
                      : match[1] == "W" ? TimelineTask::Kind::backward_weight
                                        : TimelineTask::Kind::backward;
    return {kind, std::stoi(match[2]), std::stoi(match[3])};
  }
  return {communicates ? TimelineTask::Kind::communication : TimelineTask::Kind::step};
}

std::size_t num_tasks(const Timeline& timeline) {
  std::size_t count = 0;
  for (const Timeline::Row& row : timeline.rows) count += row.tasks.size();
  return count;
}

void keep_every(Timeline& timeline, std::size_t nth) {
  std::vector<Timeline::Row> kept;
  for (std::size_t r = 0; r < timeline.rows.size(); r += nth) kept.push_back(std::move(timeline.rows[r]));
  timeline.rows = std::move(kept);
}

}  // namespace

Timeline timeline_of(const Trace& trace, const std::vector<DeviceId>& devices) {
  Builder builder(devices);
  for (const TraceEvent& event : trace) {
    const Instruction& task = event.instruction;
    const std::optional<TimelineTask::Kind> kind = kind_of(task.op);
    if (event.lane == Lane::communication || !kind) {
      builder.add(event.device, {TimelineTask::Kind::communication, -1, -1, event.begin, event.end});
    } else if (*kind == TimelineTask::Kind::step) {
      builder.add(event.device, {*kind, -1, -1, event.begin, event.end});
    } else {
      builder.add(event.device, {*kind, task.chunk.value, task.micro_batch.value, event.begin, event.end});
    }
  }
  return builder.take();
}

Timeline timeline_of(const nlohmann::json& chrome_trace, const std::vector<DeviceId>& devices) {
  constexpr double microsecond = 1e-6;
  Builder builder(devices);
  for (const nlohmann::json& event : chrome_trace.value("traceEvents", nlohmann::json::array())) {
    if (event.value("ph", "") != "X") continue;
    TimelineTask task = task_named(event.value("name", ""), event.value("tid", 0) > 0);
    task.begin = event.value("ts", 0.0) * microsecond;
    task.end = task.begin + event.value("dur", 0.0) * microsecond;
    builder.add(DeviceId(event.value("pid", -1)), task);
  }
  return builder.take();
}

void thin(Timeline& predicted, Timeline& measured, std::size_t most) {
  const std::size_t count = std::max(num_tasks(predicted), num_tasks(measured));
  const std::size_t nth = (count + most - 1) / most;
  if (nth <= 1) return;
  keep_every(predicted, nth);
  keep_every(measured, nth);
}

nlohmann::json to_json(const Timeline& timeline) {
  nlohmann::json rows = nlohmann::json::array();
  const double tick = std::max(timeline.seconds, 1e-12) / ticks;
  for (const Timeline::Row& row : timeline.rows) {
    nlohmann::json tasks = nlohmann::json::array();
    for (const TimelineTask& task : row.tasks) {
      const auto begin = std::llround(task.begin / tick);
      tasks.push_back({static_cast<int>(task.kind), task.chunk, task.micro_batch, begin,
                       std::max(1LL, std::llround(task.end / tick) - begin)});
    }
    rows.push_back({{"device", row.device.value}, {"tasks", std::move(tasks)}});
  }
  return {
      {"seconds", timeline.seconds}, {"ticks", ticks}, {"devices", timeline.num_devices}, {"rows", std::move(rows)}};
}

}  // namespace pptrain
