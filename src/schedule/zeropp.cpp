#include "schedule/zeropp.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "schedule/list_schedule.hpp"
#include "schedule/replay.hpp"

namespace pptrain {
namespace {

/// Ends of units are told from the order itself: a unit is over where all activations are freed.
std::vector<TaskOrder> weights_last(std::vector<TaskOrder> orders) {
  for (TaskOrder& order : orders) {
    int stored = 0;
    auto begin = order.begin();
    for (auto task = order.begin(); task != order.end(); ++task) {
      if (task->kind == TaskKind::forward) ++stored;
      if (task->kind == TaskKind::backward_weight) --stored;
      if (stored > 0) continue;
      std::stable_partition(begin, task + 1,
                            [](const Task& t) { return t.kind != TaskKind::backward_weight; });
      begin = task + 1;
    }
  }
  return orders;
}

class BubbleFiller {
 public:
  BubbleFiller(const PipelineShape& shape, std::vector<TaskOrder> orders, long work)
      : shape_(shape), orders_(std::move(orders)), work_(work), replay_(*replay(shape, orders_)) {
    for (const TaskOrder& order : orders_) tasks_ += std::ssize(order);
  }

  FoundOrders run() {
    const long given = work_;
    while (fill_one()) {
    }
    return {std::move(orders_), given - work_};
  }

 private:
  struct Bubble {
    double seconds = 0.0;
    std::size_t before = 0;  // the task that waits
  };

  std::vector<Bubble> bubbles(std::size_t rank) const {
    std::vector<Bubble> found;
    double end = replay_.starts[rank].front();
    for (std::size_t i = 0; i < orders_[rank].size(); ++i) {
      const double start = replay_.starts[rank][i];
      if (start > end) found.push_back({start - end, i});
      end = start + task_seconds(shape_, orders_[rank][i]);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Bubble& a, const Bubble& b) { return a.seconds > b.seconds; });
    return found;
  }

  /// Where the rank runs B of each (chunk, micro-batch).
  std::vector<std::size_t> gradient_places(const TaskOrder& order) const {
    std::vector<std::size_t> places(static_cast<std::size_t>(shape_.num_chunks()) *
                                    shape_.micro_batches);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i].kind == TaskKind::backward_input) places[key(order[i])] = i;
    }
    return places;
  }
  std::size_t key(const Task& task) const {
    return task.chunk.index() * shape_.micro_batches + task.micro_batch.index();
  }

  /// The first W after the bubble whose B is before it, of the waiting task's chunk if there is
  /// one.
  std::size_t weight_for(const TaskOrder& order, const std::vector<std::size_t>& gradients,
                         std::size_t before) const {
    std::size_t any = order.size();
    for (std::size_t i = before; i < order.size(); ++i) {
      if (order[i].kind != TaskKind::backward_weight || gradients[key(order[i])] >= before)
        continue;
      if (order[i].chunk == order[before].chunk) return i;
      any = std::min(any, i);
    }
    return any;
  }

  bool fill_one() {
    const auto last = std::max_element(replay_.last_ends.begin(), replay_.last_ends.end());
    const auto rank = static_cast<std::size_t>(last - replay_.last_ends.begin());
    TaskOrder& order = orders_[rank];
    const std::vector<std::size_t> gradients = gradient_places(order);
    for (const Bubble& bubble : bubbles(rank)) {
      if (work_ < tasks_) return false;
      const std::size_t weight = weight_for(order, gradients, bubble.before);
      if (weight == order.size()) continue;
      const auto from = order.begin() + static_cast<std::ptrdiff_t>(bubble.before);
      const auto moved = order.begin() + static_cast<std::ptrdiff_t>(weight);
      std::rotate(from, moved, moved + 1);
      work_ -= tasks_;
      auto result = replay(shape_, orders_);
      if (result && result->last_ends[rank] < replay_.last_ends[rank] &&
          result->makespan <= replay_.makespan) {
        replay_ = std::move(*result);
        return true;
      }
      std::rotate(from, from + 1, moved + 1);
    }
    return false;
  }

  const PipelineShape& shape_;
  std::vector<TaskOrder> orders_;
  long work_;
  long tasks_ = 0;
  Replay replay_;
};

}  // namespace

std::vector<int> zeropp_units(const PipelineShape& shape) {
  int most = shape.unit > 0 ? shape.unit : 2 * shape.ranks - 1;
  for (const int limit : shape.most_stored) most = std::min(most, limit / shape.chunks_per_rank);
  if (most < 1) {
    throw_bad_input({"schedule", "a rank cannot store one micro-batch",
                     fmt::format("that is {} chunks", shape.chunks_per_rank),
                     "use smaller micro-batches or recomputation"});
  }
  const int units = (shape.micro_batches + most - 1) / most;
  std::vector<int> sizes(units, shape.micro_batches / units);
  for (int u = 0; u < shape.micro_batches % units; ++u) ++sizes[u];
  return sizes;
}

std::vector<TaskOrder> generate_by_bubbles(const PipelineShape& shape,
                                           std::vector<TaskOrder> orders, long work) {
  return BubbleFiller(shape, weights_last(std::move(orders)), work).run().orders;
}

FoundOrders zeropp_orders(const PipelineShape& shape) {
  const long most_work = shape.effort == OrderEffort::full ? 1'000'000 : 250'000;  // tasks replayed
                                                                                   // by generation
  ListPolicy policy;
  policy.units = zeropp_units(shape);
  ListResult best;
  for (const double patience : {1.0, 0.5, 0.0}) {
    policy.patience = patience;
    ListResult result = list_schedule(shape, policy);
    if (best.orders.empty() || result.makespan < best.makespan) best = std::move(result);
  }
  const std::int64_t listed = 3 * 3LL * shape.num_chunks() * shape.micro_batches;
  if (shape.effort == OrderEffort::sketch || best.makespan <= makespan_bound(shape))
    return {std::move(best.orders), listed};
  FoundOrders generated = BubbleFiller(shape, weights_last(best.orders), most_work).run();
  generated.work += listed;
  if (replay(shape, generated.orders)->makespan >= best.makespan)
    generated.orders = std::move(best.orders);
  return generated;
}

}  // namespace pptrain
