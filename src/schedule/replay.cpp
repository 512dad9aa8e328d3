#include "schedule/replay.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pptrain {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Runs the orders rank by rank, each until it waits; whoever produces what is waited for wakes it.
class Replayer {
 public:
  Replayer(const PipelineShape& shape, const std::vector<TaskOrder>& orders)
      : shape_(shape),
        orders_(orders),
        forward_ends_(table_size(), never),
        backward_ends_(table_size(), never),
        next_(orders.size(), 0) {
    result_.last_ends.assign(orders.size(), 0.0);
    for (const TaskOrder& order : orders) result_.starts.emplace_back().reserve(order.size());
  }

  std::optional<Replay> run() {
    for (int r = 0; r < static_cast<int>(orders_.size()); ++r) ready_.push_back(r);
    while (!ready_.empty()) {
      const int rank = ready_.back();
      ready_.pop_back();
      advance(rank);
    }
    for (std::size_t r = 0; r < orders_.size(); ++r) {
      if (next_[r] < orders_[r].size()) return std::nullopt;
      result_.makespan = std::max(result_.makespan, result_.last_ends[r]);
    }
    return std::move(result_);
  }

 private:
  std::size_t table_size() const {
    return static_cast<std::size_t>(shape_.num_chunks()) * static_cast<std::size_t>(shape_.micro_batches);
  }
  std::size_t at(int chunk, int micro_batch) const {
    return static_cast<std::size_t>(chunk) * static_cast<std::size_t>(shape_.micro_batches) +
           static_cast<std::size_t>(micro_batch);
  }

  void advance(int rank) {
    const TaskOrder& order = orders_[rank];
    double& now = result_.last_ends[rank];
    while (next_[rank] < order.size()) {
      const Task& task = order[next_[rank]];
      const double ready = ready_time(task);
      if (ready == never) return;
      const double start = std::max(now, ready);
      result_.starts[rank].push_back(start);
      now = start + task_seconds(shape_, task);
      ++next_[rank];
      finish(task, now, rank);
    }
  }

  double ready_time(const Task& task) const {
    const int c = task.chunk.value;
    const int i = task.micro_batch.value;
    if (task.kind == TaskKind::forward) {
      return c == 0 ? 0.0 : forward_ends_[at(c - 1, i)] + shape_.latency_after(c - 1);
    }
    if (task.kind == TaskKind::backward_weight) return backward_ends_[at(c, i)];
    const double forward = forward_ends_[at(c, i)];
    if (c + 1 == shape_.num_chunks()) return forward;
    return std::max(forward, backward_ends_[at(c + 1, i)] + shape_.latency_after(c));
  }

  /// Wakes the rank that waits for this very task, if it does.
  void finish(const Task& task, double end, int rank) {
    if (task.kind == TaskKind::backward_weight) return;
    const bool forward = task.kind == TaskKind::forward;
    const int c = task.chunk.value;
    (forward ? forward_ends_ : backward_ends_)[at(c, task.micro_batch.value)] = end;
    const int neighbour = forward ? c + 1 : c - 1;
    if (neighbour < 0 || neighbour == shape_.num_chunks()) return;
    const int waiting = shape_.rank_of(neighbour);
    if (waiting == rank || next_[waiting] == orders_[waiting].size()) return;
    const Task& wanted = orders_[waiting][next_[waiting]];
    if (wanted.chunk.value == neighbour && wanted.micro_batch == task.micro_batch) ready_.push_back(waiting);
  }

  const PipelineShape& shape_;
  const std::vector<TaskOrder>& orders_;
  std::vector<double> forward_ends_;   // (chunk, micro-batch)
  std::vector<double> backward_ends_;  // (chunk, micro-batch)
  std::vector<std::size_t> next_;
  std::vector<int> ready_;
  Replay result_;
};

}  // namespace

std::optional<Replay> replay(const PipelineShape& shape, const std::vector<TaskOrder>& orders) {
  return Replayer(shape, orders).run();
}

int peak_stored(const TaskOrder& order) {
  int stored = 0;
  int peak = 0;
  for (const Task& task : order) {
    if (task.kind == TaskKind::forward) peak = std::max(peak, ++stored);
    if (task.kind == TaskKind::backward || task.kind == TaskKind::backward_weight) --stored;
  }
  return peak;
}

double task_seconds(const PipelineShape& shape, const Task& task) {
  const TaskSeconds seconds = shape.seconds_of(task.chunk.value);
  switch (task.kind) {
    case TaskKind::forward: return seconds.forward;
    case TaskKind::backward_input: return seconds.backward_input;
    case TaskKind::backward_weight: return seconds.backward_weight;
    case TaskKind::backward: return seconds.backward_input + seconds.backward_weight;
  }
  return 0.0;
}

double makespan_bound(const PipelineShape& shape) {
  const int chunks = shape.num_chunks();
  std::vector<double> first_input(chunks, 0.0);
  std::vector<double> first_gradient(chunks, 0.0);
  for (int c = 1; c < chunks; ++c) {
    first_input[c] = first_input[c - 1] + shape.seconds_of(c - 1).forward + shape.latency_after(c - 1);
  }
  first_gradient[chunks - 1] = first_input[chunks - 1] + shape.seconds_of(chunks - 1).forward;
  for (int c = chunks - 2; c >= 0; --c) {
    first_gradient[c] = first_gradient[c + 1] + shape.seconds_of(c + 1).backward_input + shape.latency_after(c);
  }
  double bound = 0.0;
  for (int r = 0; r < shape.ranks; ++r) {
    double input = never;
    double gradient = never;
    double most_forward = 0.0;
    for (int v = 0; v < shape.chunks_per_rank; ++v) {
      const int c = shape.chunk_of(r, v);
      input = std::min(input, first_input[c]);
      gradient = std::min(gradient, first_gradient[c]);
      most_forward = std::max(most_forward, shape.seconds_of(c).forward);
    }
    // Seconds of F that may come before the first B of the rank.
    double before = std::max(0.0, gradient - input);
    if (!shape.most_stored.empty()) before = std::min(before, shape.most_stored[r] * most_forward);
    const double work = shape.micro_batches * shape.rank_seconds(r);
    bound = std::max({bound, input + work, gradient + work - before});
  }
  return bound;
}

}  // namespace pptrain
