#include "schedule/improve.hpp"

#include <algorithm>
#include <random>

#include "schedule/replay.hpp"

namespace pptrain {
namespace {

/// Whether `a` may not run after `b` on the same rank: F, B and W of one micro-batch and chunk, and
/// the same kind of task of one chunk, whose micro-batches stay in order.
bool bound_before(const Task& a, const Task& b) {
  if (a.chunk != b.chunk) return false;
  return a.micro_batch == b.micro_batch || a.kind == b.kind;
}

/// Moves the task at `from` to `to`, others closing up; false and no change where its neighbours
/// forbid it.
bool move_task(TaskOrder& order, std::ptrdiff_t from, std::ptrdiff_t to) {
  const std::ptrdiff_t step = from < to ? 1 : -1;
  for (std::ptrdiff_t i = from + step; i != to + step; i += step) {
    if (bound_before(order[from], order[i])) return false;
  }
  const auto begin = order.begin();
  if (from < to) {
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  } else {
    std::rotate(begin + to, begin + from, begin + from + 1);
  }
  return true;
}

}  // namespace

double improve_orders(const PipelineShape& shape, double bound, long work, unsigned seed,
                      std::vector<TaskOrder>& orders) {
  constexpr std::ptrdiff_t reach = 6;   // places that a task moves at most
  constexpr double first_slack = 0.03;  // slower than the best by this part is accepted at first,
                                        // by 0 at last
  std::mt19937 random(seed);
  double best = replay(shape, orders)->makespan;
  std::vector<TaskOrder> current = orders;
  const long tasks = static_cast<long>(orders.front().size()) * shape.ranks;
  for (long done = 0; best > bound && done + tasks <= work; done += tasks) {
    const std::size_t rank = random() % current.size();
    TaskOrder& order = current[rank];
    const auto from = static_cast<std::ptrdiff_t>(random() % order.size());
    const auto shift = static_cast<std::ptrdiff_t>(random() % (2 * reach + 1)) - reach;
    const std::ptrdiff_t to = std::clamp(from + shift, std::ptrdiff_t{0}, std::ssize(order) - 1);
    if (to == from || !move_task(order, from, to)) continue;
    const auto result =
        fits(shape, static_cast<int>(rank), order) ? replay(shape, current) : std::nullopt;
    const double slack =
        first_slack * (1.0 - static_cast<double>(done) / static_cast<double>(work));
    if (!result || result->makespan > best * (1.0 + slack)) {
      move_task(order, to, from);
    } else if (result->makespan < best) {
      best = result->makespan;
      orders = current;
    }
  }
  return best;
}

}  // namespace pptrain
