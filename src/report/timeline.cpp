#include "report/timeline.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

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
      std::stable_sort(row.tasks.begin(), row.tasks.end(),
                       [](const TimelineTask& a, const TimelineTask& b) {
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

/// Takes a whole number that is not negative off the beginning of a text; nothing where there is
/// none.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return number;
}

/// The task that an event's name means: "F0.1", "BW0.1", "optimizer step".
TimelineTask task_named(std::string_view name, bool communicates) {
  using Kind = TimelineTask::Kind;
  static constexpr std::array<std::pair<std::string_view, Kind>, 4> kinds = {
      {{"F", Kind::forward},
       {"BW", Kind::backward},
       {"B", Kind::backward},
       {"W", Kind::backward_weight}}};
  for (const auto& [prefix, kind] : kinds) {
    if (communicates || !name.starts_with(prefix)) continue;
    std::string_view rest = name.substr(prefix.size());
    const std::optional<int> chunk = take_number(rest);
    if (!chunk || !rest.starts_with('.')) continue;
    rest.remove_prefix(1);
    const std::optional<int> micro_batch = take_number(rest);
    if (micro_batch && rest.empty()) return {kind, *chunk, *micro_batch};
  }
  return {communicates ? TimelineTask::Kind::communication : TimelineTask::Kind::step};
}

void add_event(const nlohmann::json& event, Builder& builder) {
  constexpr double microsecond = 1e-6;
  if (event.value("ph", "") != "X") return;
  const std::string name = event.value("name", "");
  TimelineTask task = task_named(name, event.value("tid", 0) > 0);
  task.begin = event.value("ts", 0.0) * microsecond;
  task.end = task.begin + event.value("dur", 0.0) * microsecond;
  if (std::isfinite(task.begin) && std::isfinite(task.end))
    builder.add(DeviceId(event.value("pid", -1)), task);
}

std::size_t num_tasks(const Timeline& timeline) {
  std::size_t count = 0;
  for (const Timeline::Row& row : timeline.rows) count += row.tasks.size();
  return count;
}

void keep_every(Timeline& timeline, std::size_t nth) {
  std::vector<Timeline::Row> kept;
  for (std::size_t r = 0; r < timeline.rows.size(); r += nth)
    kept.push_back(std::move(timeline.rows[r]));
  timeline.rows = std::move(kept);
}

using DrawnTask = std::array<std::int64_t, 5>;

/// A task as it is drawn: kind, chunk, micro-batch, begin, length.
DrawnTask drawn(const TimelineTask& task, double tick) {
  const std::int64_t begin = std::llround(task.begin / tick);
  return {static_cast<std::int64_t>(task.kind), task.chunk, task.micro_batch, begin,
          std::max<std::int64_t>(1, std::llround(task.end / tick) - begin)};
}

std::vector<DrawnTask> drawn(const Timeline::Row& row, double tick) {
  std::vector<DrawnTask> tasks;
  for (const TimelineTask& task : row.tasks) tasks.push_back(drawn(task, tick));
  return tasks;
}

double tick_of(const Timeline& timeline) { return std::max(timeline.seconds, 1e-12) / ticks; }

}  // namespace

Timeline timeline_of(const Trace& trace, const std::vector<DeviceId>& devices) {
  Builder builder(devices);
  for (const TraceEvent& event : trace) {
    const Instruction& task = event.instruction;
    const std::optional<TimelineTask::Kind> kind = kind_of(task.op);
    if (event.lane == Lane::communication || !kind) {
      builder.add(event.device,
                  {TimelineTask::Kind::communication, -1, -1, event.begin, event.end});
    } else if (*kind == TimelineTask::Kind::step) {
      builder.add(event.device, {*kind, -1, -1, event.begin, event.end});
    } else {
      builder.add(event.device,
                  {*kind, task.chunk().value, task.micro_batch().value, event.begin, event.end});
    }
  }
  return builder.take();
}

Timeline timeline_of(const nlohmann::json& chrome_trace, const std::vector<DeviceId>& devices) {
  Builder builder(devices);
  const auto events = chrome_trace.find("traceEvents");
  if (events == chrome_trace.end() || !events->is_array()) return builder.take();
  for (const nlohmann::json& event : *events) {
    try {
      add_event(event, builder);
    } catch (const nlohmann::json::exception&) {
      continue;  // a value of another type
    }
  }
  return builder.take();
}

void join_alike(Timeline& timeline) {
  std::map<std::vector<DrawnTask>, std::size_t> known;
  std::vector<Timeline::Row> kept;
  for (Timeline::Row& row : timeline.rows) {
    const auto [place, is_new] = known.try_emplace(drawn(row, tick_of(timeline)), kept.size());
    if (is_new) {
      kept.push_back(std::move(row));
    } else {
      kept[place->second].alike += row.alike;
    }
  }
  timeline.rows = std::move(kept);
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
  for (const Timeline::Row& row : timeline.rows) {
    rows.push_back({{"device", row.device.value},
                    {"alike", row.alike},
                    {"tasks", drawn(row, tick_of(timeline))}});
  }
  return {{"seconds", timeline.seconds},
          {"ticks", ticks},
          {"devices", timeline.num_devices},
          {"rows", std::move(rows)}};
}

}  // namespace pptrain
