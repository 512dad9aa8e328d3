#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>

#include "base/screen.hpp"
#include "simulate/prices.hpp"
#include "simulate/report.hpp"

namespace pptrain {
namespace {

constexpr std::size_t most_devices = 16;
constexpr double most_slots = 200.0;      // of the shortest task
constexpr double widest = 160.0;          // characters, on a screen that is wider
constexpr std::size_t label_columns = 8;  // in front of a device's row

std::size_t room() { return screen_columns() - label_columns; }

char letter_of(Op op) {
  if (op == Op::forward) return 'F';
  return op == Op::backward_weight ? 'W' : 'B';
}

/// "F3---": as much of it as there is room for.
std::string label(const Instruction& task, bool first_chunk, int width) {
  const char letter = letter_of(task.op);
  std::string text(1, first_chunk ? letter : static_cast<char>(std::tolower(letter)));
  text += std::to_string(task.micro_batch().value);
  text.resize(static_cast<std::size_t>(width), '-');
  return text;
}

/// Tasks of a trace that take time.
Trace tasks_of(const Trace& trace) {
  Trace tasks;
  for (const TraceEvent& event : trace) {
    if (is_task(event.instruction.op) && event.end > event.begin) tasks.push_back(event);
  }
  return tasks;
}

/// Characters per second, 0 where the picture would be too fine.
double scale_of(const Trace& tasks, double makespan) {
  double shortest = std::numeric_limits<double>::infinity();
  int most_digits = 0;
  for (const TraceEvent& task : tasks) {
    shortest = std::min(shortest, task.end - task.begin);
    const auto digits =
        static_cast<int>(std::to_string(task.instruction.micro_batch().value).size());
    most_digits = std::max(most_digits, digits);
  }
  const double slots = makespan / shortest;
  if (tasks.empty() || slots > most_slots) return 0.0;
  return std::clamp(std::floor(std::min(widest, static_cast<double>(room())) / slots), 1.0,
                    1.0 + most_digits) /
         shortest;
}

}  // namespace

std::string pipeline_picture(const Simulation& simulation, const Programs& programs) {
  const Trace tasks = tasks_of(simulation.trace);
  const double scale = scale_of(tasks, simulation.makespan_seconds);
  if (scale == 0.0 || programs.size() > most_devices) return "";
  const auto column = [scale](double seconds) {
    return static_cast<int>(std::lround(seconds * scale));
  };
  const std::string idle(static_cast<std::size_t>(column(simulation.makespan_seconds)), '.');
  std::map<DeviceId, std::string> rows;
  std::map<DeviceId, ChunkId> first_chunks;
  for (const TraceEvent& task : tasks) {
    const ChunkId chunk = task.instruction.chunk();
    const auto first = first_chunks.try_emplace(task.device, chunk).first;
    first->second = std::min(first->second, chunk);
  }
  for (const TraceEvent& task : tasks) {
    std::string& row = rows.try_emplace(task.device, idle).first->second;
    const int begin = column(task.begin);
    const int width = column(task.end) - begin;
    const bool is_first = first_chunks.at(task.device) == task.instruction.chunk();
    row.replace(static_cast<std::size_t>(begin), static_cast<std::size_t>(width),
                label(task.instruction, is_first, width));
  }
  std::string text;
  for (std::size_t begin = 0; begin < idle.size(); begin += room()) {
    if (begin > 0) text += "\n";  // what the screen has no room for goes on below
    for (const Program& program : programs)
      text += fmt::format("  {:>4}  {}\n", program.device.value,
                          rows[program.device].substr(begin, room()));
  }
  return text;
}

}  // namespace pptrain
