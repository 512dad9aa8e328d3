#include "schedule/list_schedule.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/infinity.hpp"
#include "schedule/cut_ports.hpp"
#include "schedule/rank_events.hpp"

namespace pptrain {

/// The state of one schedule while it is made.
class ListRun {
 public:
  explicit ListRun(const PipelineShape& shape)
      : shape_(shape),
        all_ports_(shape),
        ports_(all_ports_),
        chunks_(shape.num_chunks()),
        ranks_(shape.ranks),
        options_(3 * static_cast<std::size_t>(shape.chunks_per_rank) + 1) {
    for (int c = 0; c < shape.num_chunks(); ++c) {
      chunks_[c].rank = shape.rank_of(c);
      chunks_[c].seconds = shape.seconds_of(c);
    }
    for (int r = 0; r < shape.ranks; ++r) {
      ranks_[r].limit = shape.most_stored.empty() ? shape.micro_batches * shape.chunks_per_rank : shape.most_stored[r];
      for (int v = 0; v < shape.chunks_per_rank; ++v) ranks_[r].chunks.push_back(shape.chunk_of(r, v));
      if (!shape.room.empty()) {
        ranks_[r].room = shape.room[r] * PipelineShape::rounding;
        ranks_[r].backward = backward_bytes(shape.stored_of(r));
        for (const int c : ranks_[r].chunks) ranks_[r].weight = std::max(ranks_[r].weight, shape.stored[c].weight);
      }
    }
    result_.orders.resize(ranks_.size());
    counts_.resize(ranks_.size());
  }

  const ListResult* run(const ListPolicy& policy, const ListChoices& choices, double most) {
    begin(policy, choices, most);
    while (events_.any_left()) {
      const auto [now, rank] = events_.pop();
      if (ranks_[rank].busy_until > now) continue;
      end_task(ranks_[rank]);
      decide(rank, now);
      if (too_late_) return nullptr;
    }
    finish();
    return result_.makespan <= most ? &result_ : nullptr;
  }

  const ListChoices& num_options() const { return counts_; }

 private:
  struct ChunkState {
    int lead = std::numeric_limits<int>::max();
    int forward = 0;  // the next micro-batch of each kind
    int backward = 0;
    int weight = 0;
  };
  struct Chunk : ChunkState {
    int rank = 0;
    TaskSeconds seconds;
    std::vector<double> inputs;     // when F of a micro-batch can start
    std::vector<double> gradients;  // when B can
  };
  struct RankState {
    int warm_up = 0;
    int stored = 0;
    double bytes = 0.0;    // all that is stored
    double waiting = 0.0;  // the part of it that W gives back
    int forwards = 0;
    int backwards = 0;
    double busy_until = 0.0;
    double reduced = 0.0;  // the gradients of chunks that are through
    double left = 0.0;     // seconds of the tasks that have not started
    bool running = false;
    std::size_t decisions = 0;
  };
  struct Rank : RankState {
    std::vector<int> chunks;
    int limit = 0;
    double room = infinity;
    double backward = 0.0;  // bytes that B of any chunk needs
    double weight = 0.0;    // bytes that W of any chunk needs
    TaskOrder order;
  };
  /// The order of F and of B in units, the same on all ranks.
  struct Blocks {
    std::vector<int> forwards;       // the rank's chunk of its k-th F
    std::vector<int> backwards;      // and B
    std::vector<std::size_t> after;  // tasks that a rank runs before its k-th F
  };
  struct Option {
    bool waits = false;
    TaskKind kind = TaskKind::forward;
    int chunk = 0;
    double preference = 0.0;
  };

  void begin(const ListPolicy& policy, const ListChoices& choices, double most) {
    policy_ = &policy;
    choices_ = &choices;
    latest_ = most * (1.0 + 1e-9);  // sums of seconds round
    too_late_ = false;
    ports_ = all_ports_;
    for (int c = 0; c < shape_.num_chunks(); ++c) {
      Chunk& chunk = chunks_[c];
      static_cast<ChunkState&>(chunk) = {};
      if (policy.lead > 0.0) chunk.lead = std::max(1, static_cast<int>(policy.lead * (shape_.num_chunks() - c)));
      chunk.inputs.assign(shape_.micro_batches, c == 0 ? 0.0 : infinity);
      chunk.gradients.assign(shape_.micro_batches, infinity);
    }
    events_.clear();
    for (int r = 0; r < shape_.ranks; ++r) {
      Rank& rank = ranks_[r];
      static_cast<RankState&>(rank) = {};
      rank.warm_up = policy.warm_up * (shape_.ranks - r) * shape_.chunks_per_rank;
      rank.left = shape_.micro_batches * shape_.rank_seconds(r);
      rank.order.clear();
      counts_[r].clear();
      rank.order.reserve(3 * static_cast<std::size_t>(shape_.micro_batches * shape_.chunks_per_rank));
      add_event(0.0, r);
    }
    plan_blocks();
  }

  void finish() {
    result_.makespan = 0.0;
    result_.sum_of_ends = 0.0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      PPTRAIN_ASSERT(std::ssize(rank.order) == 3L * shape_.micro_batches * shape_.chunks_per_rank, "{} tasks",
                     rank.order.size());
      const double end = std::max(rank.busy_until, rank.reduced);
      result_.makespan = std::max(result_.makespan, end);
      result_.sum_of_ends += end;
      std::swap(result_.orders[r], rank.order);
    }
  }

  void add_event(double when, int rank) { events_.push({when, rank}); }

  StoredBytes bytes_of(int chunk) const { return shape_.stored.empty() ? StoredBytes{} : shape_.stored[chunk]; }

  /// Whether there is room for F, with any W that waits beside it, and then for a B without these. The lowest
  /// micro-batch that has an F left on the rank keeps room for all of its chunks.
  bool has_room(const Rank& rank, int c) const {
    const Chunk& chunk = chunks_[c];
    if (chunk.forward - chunk.backward >= chunk.lead) return false;
    int needed = 1;
    const StoredBytes own = bytes_of(c);
    double stored = rank.bytes + own.before;
    if (rank.chunks.size() > 1) {
      int oldest = shape_.micro_batches;
      for (const int other : rank.chunks) oldest = std::min(oldest, chunks_[other].forward);
      for (const int other : rank.chunks) {
        if (chunk.forward == oldest || chunks_[other].forward != oldest) continue;
        ++needed;
        stored += bytes_of(other).before;
      }
    }
    const double beside = rank.waiting > 0.0 ? std::max(own.forward, rank.weight) : own.forward;
    const double most = stored + std::max(beside, rank.backward - rank.waiting);
    return rank.stored + needed <= rank.limit && most <= rank.room;
  }

  /// Whether there is room for B; if not, a W that waits gives some back.
  bool has_backward_room(const Rank& rank, int c) const {
    const StoredBytes own = bytes_of(c);
    const double needed = std::max(own.backward, own.after - own.before + rank.weight);
    return rank.bytes + needed <= rank.room;
  }

  void plan_blocks() {
    blocks_ = {};
    std::size_t done = 0;
    const int chunks = shape_.chunks_per_rank;
    for (const int unit : policy_->units) {
      for (int v = 0; v < chunks; ++v) {
        blocks_.forwards.insert(blocks_.forwards.end(), unit, v);
        blocks_.backwards.insert(blocks_.backwards.end(), unit, chunks - 1 - v);
      }
      blocks_.after.insert(blocks_.after.end(), static_cast<std::size_t>(unit) * chunks, done);
      done += 3 * static_cast<std::size_t>(unit) * chunks;
    }
  }

  /// Whether it is this chunk's turn in the unit.
  bool forward_turn(const Rank& rank, int chunk) const {
    if (policy_->units.empty()) return true;
    return rank.chunks[blocks_.forwards[rank.forwards]] == chunk && rank.order.size() >= blocks_.after[rank.forwards];
  }
  bool backward_turn(const Rank& rank, int chunk) const {
    return policy_->units.empty() || rank.chunks[blocks_.backwards[rank.backwards]] == chunk;
  }

  double chunk_preference(int chunk, int micro_batch) const {
    if (policy_->chunks == ListPolicy::Chunks::deepest) return chunk;
    return -static_cast<double>(micro_batch) + 1e-6 * chunk;
  }

  void decide(int r, double now) {
    Rank& rank = ranks_[r];
    num_options_ = 0;
    double next_arrival = infinity;
    bool blocked = false;
    const bool warming = rank.backwards == 0 && rank.forwards < rank.warm_up;
    for (const int c : rank.chunks) {
      const Chunk& chunk = chunks_[c];
      if (chunk.forward < shape_.micro_batches && forward_turn(rank, c)) {
        const double ready = chunk.inputs[chunk.forward];
        if (!has_room(rank, c)) {
          blocked = blocked || ready <= now;
        } else if (ready <= now) {
          add_option({false, TaskKind::forward, c, (warming ? 3e9 : 1e9) + chunk_preference(c, chunk.forward)});
        } else {
          next_arrival = std::min(next_arrival, ready);
        }
      }
      if (chunk.backward < shape_.micro_batches && backward_turn(rank, c)) {
        const double ready = chunk.gradients[chunk.backward];
        if (ready <= now && !has_backward_room(rank, c)) {
          blocked = true;
        } else if (ready <= now) {
          add_option({false, TaskKind::backward_input, c, 2e9 + chunk_preference(c, chunk.backward)});
        } else {
          next_arrival = std::min(next_arrival, ready);
        }
      }
    }
    add_weights(rank, now, next_arrival, blocked);
    choose(rank, r, now);
  }

  /// W that would delay what comes too long is put off, unless an F waits for its memory.
  void add_weights(const Rank& rank, double now, double next_arrival, bool blocked) {
    for (const int c : rank.chunks) {
      const Chunk& chunk = chunks_[c];
      if (chunk.weight == chunk.backward) continue;
      const bool fits = now + chunk.seconds.backward_weight * (1.0 - policy_->patience) <= next_arrival;
      const double base = fits || blocked ? 0.0 : -2e9;
      add_option({false, TaskKind::backward_weight, c, base + chunk_preference(c, chunk.weight)});
    }
    if (next_arrival < infinity) add_option({true, TaskKind::forward, 0, -1e9});
  }

  void add_option(const Option& option) { options_[num_options_++] = option; }

  /// No two options have the same preference.
  void choose(Rank& rank, int r, double now) {
    if (num_options_ == 0) return;
    std::size_t choice = 0;
    if (static_cast<std::size_t>(r) < choices_->size() && rank.decisions < (*choices_)[r].size()) {
      choice = (*choices_)[r][rank.decisions] % num_options_;
    }
    ++rank.decisions;
    counts_[r].push_back(static_cast<unsigned char>(num_options_));
    const auto end = options_.begin() + static_cast<std::ptrdiff_t>(num_options_);
    auto chosen = options_.begin() + static_cast<std::ptrdiff_t>(choice);
    const auto first = [](const Option& a, const Option& b) { return a.preference > b.preference; };
    if (choice == 0) {
      chosen = std::min_element(options_.begin(), end, first);
    } else {
      std::nth_element(options_.begin(), chosen, end, first);
    }
    if (!chosen->waits) start(rank, r, *chosen, now);
  }

  void start(Rank& rank, int r, const Option& option, double now) {
    Chunk& chunk = chunks_[option.chunk];
    const TaskSeconds& seconds = chunk.seconds;
    too_late_ = now + rank.left > latest_;
    if (option.kind == TaskKind::forward) {
      ++rank.forwards;
      ++rank.stored;
      rank.bytes += bytes_of(option.chunk).before;
      run(rank, r, {option.kind, ChunkId(option.chunk), MicroBatchId(chunk.forward++)}, now, now + seconds.forward);
    } else if (option.kind == TaskKind::backward_input) {
      ++rank.backwards;
      const StoredBytes bytes = bytes_of(option.chunk);
      rank.bytes += bytes.after - bytes.before;
      rank.waiting += bytes.after;
      run(rank, r, {option.kind, ChunkId(option.chunk), MicroBatchId(chunk.backward++)}, now,
          now + seconds.backward_input);
    } else {
      --rank.stored;
      rank.bytes -= bytes_of(option.chunk).after;
      rank.waiting -= bytes_of(option.chunk).after;
      run(rank, r, {option.kind, ChunkId(option.chunk), MicroBatchId(chunk.weight++)}, now,
          now + seconds.backward_weight);
      if (chunk.weight == shape_.micro_batches) {
        rank.reduced = std::max(rank.reduced, rank.busy_until) + shape_.reduce_seconds_of(option.chunk);
      }
    }
  }

  void run(Rank& rank, int r, const Task& task, double now, double end) {
    rank.order.push_back(task);
    rank.left -= end - now;
    rank.busy_until = end;
    rank.running = true;
    add_event(end, r);
    const int i = task.micro_batch.value;
    if (task.kind == TaskKind::forward && task.chunk.value + 1 == shape_.num_chunks()) {
      chunks_.back().gradients[i] = end;
    } else if (const Delivery to = delivery_of(task); to.arrival != nullptr) {
      *to.arrival = ports_.arrival(*to.way, end);  // as far as is known now
    }
  }

  /// Sends what the rank's last task has made.
  void end_task(Rank& rank) {
    if (!rank.running) return;
    rank.running = false;
    const Delivery to = delivery_of(rank.order.back());
    if (to.arrival == nullptr) return;
    *to.arrival = ports_.send(*to.way, rank.busy_until);
    if (ranks_[to.rank].busy_until <= *to.arrival) add_event(*to.arrival, to.rank);  // else it looks when it is free
  }

  /// Where what a task makes goes on its way to another chunk.
  struct Delivery {
    double* arrival = nullptr;
    const CutPorts::PortWay* way = nullptr;
    int rank = 0;
  };

  Delivery delivery_of(const Task& task) {
    const int c = task.chunk.value;
    const int i = task.micro_batch.value;
    if (task.kind == TaskKind::forward && c + 1 < shape_.num_chunks()) {
      return {&chunks_[c + 1].inputs[i], &ports_.forward(c), chunks_[c + 1].rank};
    }
    if (task.kind != TaskKind::backward_input || c == 0) return {};
    return {&chunks_[c - 1].gradients[i], &ports_.backward(c - 1), chunks_[c - 1].rank};
  }

  const PipelineShape& shape_;
  const ListPolicy* policy_ = nullptr;
  const ListChoices* choices_ = nullptr;
  CutPorts all_ports_;  // free
  CutPorts ports_;
  std::vector<Chunk> chunks_;
  std::vector<Rank> ranks_;
  std::vector<Option> options_;  // of a decision, the first ones
  std::size_t num_options_ = 0;
  ListChoices counts_;  // of options, by rank and decision
  Blocks blocks_;
  RankEvents events_;
  double latest_ = infinity;
  bool too_late_ = false;
  ListResult result_;
};

ListScheduler::ListScheduler(const PipelineShape& shape) : run_(std::make_unique<ListRun>(shape)) {}

ListScheduler::~ListScheduler() = default;

const ListChoices& ListScheduler::num_options() const { return run_->num_options(); }

const ListResult* ListScheduler::run(const ListPolicy& policy, const ListChoices& choices, double most) {
  return run_->run(policy, choices, most);
}

ListResult list_schedule(const PipelineShape& shape, const ListPolicy& policy, const ListChoices& choices) {
  return *ListRun(shape).run(policy, choices, infinity);
}

}  // namespace pptrain
