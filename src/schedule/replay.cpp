#include "schedule/replay.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <set>
#include <utility>

#include "base/infinity.hpp"
#include "schedule/cut_ports.hpp"

namespace pptrain {
namespace {

/// Runs the orders forwards in time, as `list_schedule` does: a rank looks at its next task when it
/// ends one, and when something arrives.
class Replayer {
 public:
  Replayer(const PipelineShape& shape, const std::vector<TaskOrder>& orders)
      : shape_(shape),
        orders_(orders),
        ports_(shape),
        inputs_(table_size(), infinity),
        gradients_(table_size(), infinity),
        weights_ready_(table_size(), infinity),
        weights_left_(shape.num_chunks(), shape.micro_batches),
        reduced_(orders.size(), 0.0),
        running_(orders.size(), nullptr),
        next_(orders.size(), 0) {
    std::fill_n(inputs_.begin(), shape.micro_batches, 0.0);
    result_.last_ends.assign(orders.size(), 0.0);
    for (const TaskOrder& order : orders) result_.starts.emplace_back().reserve(order.size());
  }

  std::optional<Replay> run() {
    for (int r = 0; r < static_cast<int>(orders_.size()); ++r) events_.emplace(0.0, r);
    while (!events_.empty()) {
      const auto [now, rank] = events_.top();
      events_.pop();
      if (result_.last_ends[rank] > now) continue;
      end_task(rank);
      start_next(rank, now);
    }
    for (std::size_t r = 0; r < orders_.size(); ++r) {
      if (next_[r] < orders_[r].size()) return std::nullopt;
      result_.last_ends[r] = std::max(result_.last_ends[r], reduced_[r]);
      result_.makespan = std::max(result_.makespan, result_.last_ends[r]);
    }
    return std::move(result_);
  }

 private:
  std::size_t table_size() const {
    return static_cast<std::size_t>(shape_.num_chunks()) *
           static_cast<std::size_t>(shape_.micro_batches);
  }
  std::size_t at(int chunk, int micro_batch) const {
    return static_cast<std::size_t>(chunk) * static_cast<std::size_t>(shape_.micro_batches) +
           static_cast<std::size_t>(micro_batch);
  }

  void start_next(int rank, double now) {
    if (next_[rank] == orders_[rank].size()) return;
    const Task& task = orders_[rank][next_[rank]];
    if (ready_time(task) > now) return;
    ++next_[rank];
    result_.starts[rank].push_back(now);
    running_[rank] = &task;
    result_.last_ends[rank] = now + task_seconds(shape_, task);
    events_.emplace(result_.last_ends[rank], rank);
  }

  double ready_time(const Task& task) const {
    const std::size_t place = at(task.chunk.value, task.micro_batch.value);
    if (task.kind == TaskKind::forward) return inputs_[place];
    return task.kind == TaskKind::backward_weight ? weights_ready_[place] : gradients_[place];
  }

  /// Sends what the rank's last task has made.
  void end_task(int rank) {
    if (running_[rank] == nullptr) return;
    const Task& task = *std::exchange(running_[rank], nullptr);
    const double end = result_.last_ends[rank];
    const int c = task.chunk.value;
    const int i = task.micro_batch.value;
    if (task.kind == TaskKind::backward_input) weights_ready_[at(c, i)] = end;
    if (task.kind == TaskKind::forward && c + 1 == shape_.num_chunks()) {
      gradients_[at(c, i)] = end;
    } else if (task.kind == TaskKind::forward) {
      deliver(inputs_[at(c + 1, i)], ports_.send(CutPorts::forward(c), end), c + 1);
    } else if (task.kind != TaskKind::backward_weight && c > 0) {
      deliver(gradients_[at(c - 1, i)], ports_.send(CutPorts::backward(c - 1), end), c - 1);
    }
    const bool adds_gradients =
        task.kind == TaskKind::backward || task.kind == TaskKind::backward_weight;
    if (adds_gradients && --weights_left_[c] == 0) {
      reduced_[rank] = std::max(reduced_[rank], end) + shape_.reduce_seconds_of(c);
    }
  }

  void deliver(double& arrival, double time, int chunk) {
    arrival = time;
    events_.emplace(time, shape_.rank_of(chunk));
  }

  const PipelineShape& shape_;
  const std::vector<TaskOrder>& orders_;
  CutPorts ports_;
  std::vector<double> inputs_;         // (chunk, micro-batch), when F can start
  std::vector<double> gradients_;      // when B can
  std::vector<double> weights_ready_;  // when W can
  std::vector<int> weights_left_;      // by chunk
  std::vector<double> reduced_;        // by rank
  std::vector<const Task*> running_;
  std::vector<std::size_t> next_;
  Replay result_;
  using Event = std::pair<double, int>;  // when, rank
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

/// On each port: all its transfers after the first of them can start.
double port_bound(const PipelineShape& shape, const std::vector<double>& first_input,
                  const std::vector<double>& first_gradient) {
  const CutPorts ports(shape);
  std::vector<double> busy(ports.num_ports(), 0.0);
  std::vector<double> first(ports.num_ports(), infinity);
  const auto add = [&](const CutPorts::PortWay& way, double sent) {
    for (const int port : std::set<int>(way.ports.begin(), way.ports.end())) {
      busy[port] += shape.micro_batches * way.time.busy;
      first[port] = std::min(first[port], sent);
    }
  };
  for (int cut = 0; cut + 1 < shape.num_chunks(); ++cut) {
    add(ports.way(CutPorts::forward(cut)), first_input[cut] + shape.seconds_of(cut).forward);
    add(ports.way(CutPorts::backward(cut)),
        first_gradient[cut + 1] + shape.seconds_of(cut + 1).backward_input);
  }
  double bound = 0.0;
  for (std::size_t port = 0; port < busy.size(); ++port)
    bound = std::max(bound, first[port] + busy[port]);
  return bound;
}

/// Micro-batches of chunks that a rank has room for between F and B.
double most_that_fit(const PipelineShape& shape, int rank) {
  double least = infinity;
  for (int v = 0; v < shape.chunks_per_rank; ++v)
    least = std::min(least, shape.stored[shape.chunk_of(rank, v)].before);
  return least > 0.0 ? std::max<double>(shape.chunks_per_rank, std::floor(shape.room[rank] / least))
                     : infinity;
}

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

bool fits(const PipelineShape& shape, int rank, const TaskOrder& order) {
  if (!shape.most_stored.empty() && peak_stored(order) > shape.most_stored[rank]) return false;
  if (shape.room.empty()) return true;
  double stored = 0.0;
  double peak = 0.0;
  for (const Task& task : order) {
    const StoredBytes& bytes = shape.stored[task.chunk.value];
    if (task.kind == TaskKind::forward) {
      stored += bytes.before;
      peak = std::max(peak, stored + bytes.forward);
    } else if (task.kind == TaskKind::backward_weight) {
      peak = std::max(peak, stored + bytes.weight);
      stored -= bytes.after;
    } else {
      peak = std::max(peak, stored + bytes.backward);
      stored += (task.kind == TaskKind::backward_input ? bytes.after : 0.0) - bytes.before;
    }
  }
  return peak <= shape.room[rank] * PipelineShape::rounding;
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
    first_input[c] = first_input[c - 1] + shape.seconds_of(c - 1).forward +
                     shape.cut_after(c - 1).forward.seconds;
  }
  first_gradient[chunks - 1] = first_input[chunks - 1] + shape.seconds_of(chunks - 1).forward;
  for (int c = chunks - 2; c >= 0; --c) {
    first_gradient[c] = first_gradient[c + 1] + shape.seconds_of(c + 1).backward_input +
                        shape.cut_after(c).backward.seconds;
  }
  double bound = 0.0;
  for (int r = 0; r < shape.ranks; ++r) {
    double input = infinity;
    double gradient = infinity;
    double most_forward = 0.0;
    double reduce = infinity;
    for (int v = 0; v < shape.chunks_per_rank; ++v) {
      const int c = shape.chunk_of(r, v);
      input = std::min(input, first_input[c]);
      gradient = std::min(gradient, first_gradient[c]);
      most_forward = std::max(most_forward, shape.seconds_of(c).forward);
      reduce = std::min(reduce, shape.reduce_seconds_of(c));
    }
    // Seconds of F that may come before the first B of the rank.
    double before = std::max(0.0, gradient - input);
    if (!shape.most_stored.empty()) before = std::min(before, shape.most_stored[r] * most_forward);
    if (!shape.room.empty()) before = std::min(before, most_that_fit(shape, r) * most_forward);
    const double work = shape.micro_batches * shape.rank_seconds(r) + reduce;
    bound = std::max({bound, input + work, gradient + work - before});
  }
  return std::max(bound, port_bound(shape, first_input, first_gradient));
}

}  // namespace pptrain
