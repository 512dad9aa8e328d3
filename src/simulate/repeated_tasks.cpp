#include "simulate/repeated_tasks.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "simulate/prices.hpp"

namespace pptrain {
namespace {

bool repeats(const Task& task, const Task& later, int micro_batches) {
  return task.kind == later.kind && task.chunk == later.chunk &&
         task.micro_batch.value + micro_batches == later.micro_batch.value;
}

/// Tasks of a period of so many micro-batches in an order of all.
std::size_t length_of(const TaskOrder& order, int micro_batches, int period) {
  return order.size() / static_cast<std::size_t>(micro_batches) * static_cast<std::size_t>(period);
}

/// Whether a period in the middle of the order is followed by its like.
bool repeats_in_the_middle(const TaskOrder& order, std::size_t length, int period) {
  if (length == 0 || order.size() < 2 * length) return false;
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - length) / 2);
  const auto later = middle + static_cast<std::ptrdiff_t>(length);
  const auto end = std::min(later, order.end() - static_cast<std::ptrdiff_t>(length));
  return std::equal(middle, end, later,
                    [period](const Task& a, const Task& b) { return repeats(a, b, period); });
}

/// The tasks around the middle of an order that repeat, `length` of them a period of so many
/// micro-batches.
RepeatedTasks::OfStage periods_of(const TaskOrder& order, std::size_t length, int micro_batches) {
  const auto again = [&](std::size_t i) {
    return repeats(order[i], order[i + length], micro_batches);
  };
  const std::size_t last = order.size() - length;
  std::size_t begin = last / 2;
  std::size_t end = begin;
  while (end < last && again(end)) ++end;
  while (begin > 0 && again(begin - 1)) --begin;
  return {begin, length, static_cast<int>((end - begin) / length) + 1};
}

std::optional<RepeatedTasks> with_period(const std::vector<TaskOrder>& orders, int micro_batches,
                                         int period) {
  const auto in_the_middle = [&](const TaskOrder& order) {
    return repeats_in_the_middle(order, length_of(order, micro_batches, period), period);
  };
  if (!std::all_of(orders.begin(), orders.end(), in_the_middle)) return std::nullopt;
  RepeatedTasks repeated{period, {}};
  for (const TaskOrder& order : orders) {
    repeated.stages.push_back(periods_of(order, length_of(order, micro_batches, period), period));
  }
  return repeated;
}

/// Whether each kind of task of each chunk comes once for each of so many micro-batches.
bool is_whole(const TaskOrder& order, int micro_batches) {
  std::map<std::pair<int, TaskKind>, std::vector<char>> seen;
  for (const Task& task : order) {
    std::vector<char>& of_kind = seen[{task.chunk.value, task.kind}];
    of_kind.resize(static_cast<std::size_t>(micro_batches), 0);
    const int i = task.micro_batch.value;
    if (i < 0 || i >= micro_batches || std::exchange(of_kind[static_cast<std::size_t>(i)], 1) != 0)
      return false;
  }
  return order.size() == seen.size() * static_cast<std::size_t>(micro_batches);
}

bool repeats(const Instruction& instruction, const Instruction& later, int micro_batches) {
  Instruction moved = instruction;
  if (auto* task = std::get_if<TaskPlace>(&moved.place); task && task->micro_batch.valid())
    task->micro_batch.value += micro_batches;
  return moved == later;
}

}  // namespace

int RepeatedTasks::periods() const {
  int fewest = stages.front().periods;
  for (const OfStage& stage : stages) fewest = std::min(fewest, stage.periods);
  return fewest;
}

std::optional<RepeatedTasks> repeated_tasks(const std::vector<TaskOrder>& orders,
                                            int micro_batches) {
  const int most = std::min(4 * static_cast<int>(orders.size()), micro_batches / 4);
  std::optional<RepeatedTasks> repeated;
  for (int period = 1; !repeated && period <= most; ++period)
    repeated = with_period(orders, micro_batches, period);
  return repeated;
}

std::optional<std::vector<TaskOrder>> without_periods(const std::vector<TaskOrder>& orders,
                                                      const RepeatedTasks& repeated, int periods) {
  std::vector<TaskOrder> shorter;
  const int fewer = periods * repeated.micro_batches;
  for (std::size_t s = 0; s < orders.size(); ++s) {
    const RepeatedTasks::OfStage& stage = repeated.stages[s];
    const auto cut = orders[s].begin() + static_cast<std::ptrdiff_t>(stage.begin);
    const auto after = cut + static_cast<std::ptrdiff_t>(stage.length) * periods;
    TaskOrder& order = shorter.emplace_back(orders[s].begin(), cut);
    order.reserve(orders[s].size() - static_cast<std::size_t>(after - cut));
    for (auto task = after; task != orders[s].end(); ++task) {
      order.push_back({task->kind, task->chunk, MicroBatchId(task->micro_batch.value - fewer)});
    }
    const std::size_t tasks = stage.length / static_cast<std::size_t>(repeated.micro_batches);
    if (!is_whole(order, static_cast<int>(order.size() / tasks))) return std::nullopt;
  }
  return shorter;
}

RepeatedInstructions repeated_instructions(const Program& program,
                                           const RepeatedTasks::OfStage& tasks, int micro_batches) {
  std::vector<std::size_t> places;  // of tasks
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    if (is_task(program.instructions[i].op)) places.push_back(i);
  }
  RepeatedInstructions found;
  found.begin = places[tasks.begin];
  found.length = places[tasks.begin + tasks.length] - found.begin;
  found.end = found.begin + found.length;
  while (found.end < program.instructions.size() &&
         repeats(program.instructions[found.end - found.length], program.instructions[found.end],
                 micro_batches)) {
    ++found.end;
  }
  return found;
}

}  // namespace pptrain
