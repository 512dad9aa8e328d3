#include "schedule/list_schedule.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/infinity.hpp"
#include "schedule/arrivals.hpp"
#include "schedule/cut_ports.hpp"
#include "schedule/rank_events.hpp"

namespace pptrain {

/// The state of one schedule while it is made.
class ListRun {
 public:
  explicit ListRun(const PipelineShape& shape)
      : shape_(shape),
        ports_(shape),
        chunks_(shape.num_chunks()),
        ranks_(shape.ranks),
        options_(3 * static_cast<std::size_t>(shape.chunks_per_rank) + 1) {
    for (int c = 0; c < shape.num_chunks(); ++c) {
      chunks_[c].rank = shape.rank_of(c);
      chunks_[c].seconds = shape.seconds_of(c);
      if (!shape.stored.empty()) chunks_[c].bytes = shape.stored[c];
    }
    for (int r = 0; r < shape.ranks; ++r) {
      ranks_[r].limit = shape.most_stored.empty() ? shape.micro_batches * shape.chunks_per_rank
                                                  : shape.most_stored[r];
      ranks_[r].seconds = shape.rank_seconds(r);
      for (int v = 0; v < shape.chunks_per_rank; ++v)
        ranks_[r].chunks.push_back(shape.chunk_of(r, v));
      if (!shape.room.empty()) {
        ranks_[r].room = shape.room[r] * PipelineShape::rounding;
        ranks_[r].backward = backward_bytes(shape.stored_of(r));
        for (const int c : ranks_[r].chunks)
          ranks_[r].weight = std::max(ranks_[r].weight, shape.stored[c].weight);
      }
    }
    result_.orders.resize(ranks_.size());
    counts_.resize(ranks_.size());
  }

  ListResult* run(const ListPolicy& policy, const ListChoices& choices, double most) {
    begin(policy, choices, most);
    while (events_.any_left()) {
      const RankEvents::Event event = events_.pop();
      if (ranks_[event.rank].busy_until <= event.when) {
        end_task(ranks_[event.rank]);
        decide(event.rank, event.when);
        if (too_late_) return nullptr;
      }
      if (event.source != end_of_task) await_arrival(event.source);
    }
    finish();
    return result_.makespan <= most ? &result_ : nullptr;
  }

  ListChoices& num_options() { return counts_; }

 private:
  struct Chunk {
    int rank = 0;
    TaskSeconds seconds;
    StoredBytes bytes;
    int lead = std::numeric_limits<int>::max();
    Arrivals forwards;
    Arrivals backwards;
    int weight = 0;  // the next micro-batch of W
  };
  /// Events of what arrives for F and for B of chunk c are from 2 c and 2 c + 1.
  static constexpr int end_of_task = -1;
  /// The way of what a task makes to another chunk.
  struct Delivery {
    int source = end_of_task;  // of the event when it arrives; else nothing is sent
    int micro_batch = 0;
    const CutPorts::PortWay* way = nullptr;
  };
  struct RankState {
    int warm_up = 0;
    int stored = 0;
    double bytes = 0.0;    // all that is stored
    double waiting = 0.0;  // the part of it that W gives back
    int forwards = 0;
    int backwards = 0;
    int oldest = 0;  // micro-batch that has an F left
    double busy_until = 0.0;
    double reduced = 0.0;     // the gradients of chunks that are through
    double left = 0.0;        // seconds of the tasks that have not started
    std::size_t started = 0;  // tasks
    std::size_t decisions = 0;
    Delivery delivery;  // of the task that runs
  };
  struct Rank : RankState {
    std::vector<int> chunks;
    int limit = 0;
    double seconds = 0.0;  // of one micro-batch
    double room = infinity;
    double backward = 0.0;  // bytes that B of any chunk needs
    double weight = 0.0;    // bytes that W of any chunk needs
    TaskOrder order;        // of all tasks; those that have not started are of another run
  };
  /// The order of F and of B in units, the same on all ranks.
  struct Blocks {
    std::vector<int> forwards;       // the rank's chunk of its k-th F
    std::vector<int> backwards;      // the rank's chunk of its k-th B
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
    ports_.free_all();
    for (int c = 0; c < shape_.num_chunks(); ++c) {
      Chunk& chunk = chunks_[c];
      chunk.lead = policy.lead > 0.0
                       ? std::max(1, static_cast<int>(policy.lead * (shape_.num_chunks() - c)))
                       : std::numeric_limits<int>::max();
      chunk.forwards.begin(shape_.micro_batches, c == 0 ? 0.0 : infinity);
      chunk.backwards.begin(shape_.micro_batches, infinity);
      chunk.weight = 0;
    }
    events_.clear();
    for (int r = 0; r < shape_.ranks; ++r) {
      Rank& rank = ranks_[r];
      static_cast<RankState&>(rank) = {};
      rank.warm_up = policy.warm_up * (shape_.ranks - r) * shape_.chunks_per_rank;
      rank.left = shape_.micro_batches * rank.seconds;
      rank.order.resize(3 *
                        static_cast<std::size_t>(shape_.micro_batches * shape_.chunks_per_rank));
      counts_[r].clear();
      events_.push({0.0, r, end_of_task});
    }
    plan_blocks();
  }

  void finish() {
    result_.makespan = 0.0;
    result_.sum_of_ends = 0.0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      PPTRAIN_ASSERT(rank.started == rank.order.size(), "{} of {} tasks", rank.started,
                     rank.order.size());
      const double end = std::max(rank.busy_until, rank.reduced);
      result_.makespan = std::max(result_.makespan, end);
      result_.sum_of_ends += end;
      std::swap(result_.orders[r], rank.order);
    }
  }

  /// Whether there is room for F, with any W that waits beside it, and then for a B without these.
  /// The lowest micro-batch that has an F left on the rank keeps room for all of its chunks.
  bool has_room(const Rank& rank, const Chunk& chunk) const {
    if (chunk.forwards.next() - chunk.backwards.next() >= chunk.lead) return false;
    int needed = 1;
    double stored = rank.bytes + chunk.bytes.before;
    if (chunk.forwards.next() != rank.oldest) {
      for (const int other : rank.chunks) {
        if (chunks_[other].forwards.next() != rank.oldest) continue;
        ++needed;
        stored += chunks_[other].bytes.before;
      }
    }
    const double beside =
        rank.waiting > 0.0 ? std::max(chunk.bytes.forward, rank.weight) : chunk.bytes.forward;
    const double most = stored + std::max(beside, rank.backward - rank.waiting);
    return rank.stored + needed <= rank.limit && most <= rank.room;
  }

  /// Whether there is room for B; if not, a W that waits gives some back.
  static bool has_backward_room(const Rank& rank, const StoredBytes& own) {
    const double needed = std::max(own.backward, own.after - own.before + rank.weight);
    return rank.bytes + needed <= rank.room;
  }

  void plan_blocks() {
    blocks_.forwards.clear();
    blocks_.backwards.clear();
    blocks_.after.clear();
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
    return rank.chunks[blocks_.forwards[rank.forwards]] == chunk &&
           rank.started >= blocks_.after[rank.forwards];
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
      // What arrives behind another arrival changes nothing.
      if (const double ready = chunk.forwards.ready();
          (ready <= now || ready < next_arrival) && forward_turn(rank, c)) {
        if (!has_room(rank, chunk)) {
          blocked = blocked || ready <= now;
        } else if (ready <= now) {
          add_option({false, TaskKind::forward, c,
                      (warming ? 3e9 : 1e9) + chunk_preference(c, chunk.forwards.next())});
        } else {
          next_arrival = ready;
        }
      }
      if (const double ready = chunk.backwards.ready();
          (ready <= now || ready < next_arrival) && backward_turn(rank, c)) {
        if (ready > now) {
          next_arrival = ready;
        } else if (!has_backward_room(rank, chunk.bytes)) {
          blocked = true;
        } else {
          add_option({false, TaskKind::backward_input, c,
                      2e9 + chunk_preference(c, chunk.backwards.next())});
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
      if (chunk.weight == chunk.backwards.next()) continue;
      const bool fits =
          now + chunk.seconds.backward_weight * (1.0 - policy_->patience) <= next_arrival;
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
      choice = (*choices_)[r][rank.decisions];
      if (choice != 0) choice %= num_options_;
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
    const ChunkId id(option.chunk);
    too_late_ = now + rank.left > latest_;
    if (option.kind == TaskKind::forward) {
      ++rank.forwards;
      ++rank.stored;
      rank.bytes += chunk.bytes.before;
      const MicroBatchId taken = chunk.forwards.take();
      if (taken.value == rank.oldest) find_oldest(rank);
      run(rank, r, {option.kind, id, taken}, now, now + chunk.seconds.forward);
    } else if (option.kind == TaskKind::backward_input) {
      ++rank.backwards;
      rank.bytes += chunk.bytes.after - chunk.bytes.before;
      rank.waiting += chunk.bytes.after;
      run(rank, r, {option.kind, id, chunk.backwards.take()}, now,
          now + chunk.seconds.backward_input);
    } else {
      --rank.stored;
      rank.bytes -= chunk.bytes.after;
      rank.waiting -= chunk.bytes.after;
      run(rank, r, {option.kind, id, MicroBatchId(chunk.weight++)}, now,
          now + chunk.seconds.backward_weight);
      if (chunk.weight == shape_.micro_batches) {
        rank.reduced =
            std::max(rank.reduced, rank.busy_until) + shape_.reduce_seconds_of(option.chunk);
      }
    }
  }

  void find_oldest(Rank& rank) const {
    rank.oldest = shape_.micro_batches;
    for (const int c : rank.chunks) rank.oldest = std::min(rank.oldest, chunks_[c].forwards.next());
  }

  void run(Rank& rank, int r, const Task& task, double now, double end) {
    rank.order[rank.started++] = task;
    rank.left -= end - now;
    rank.busy_until = end;
    events_.push({end, r, end_of_task});
    const int i = task.micro_batch.value;
    if (task.kind == TaskKind::forward && task.chunk.value + 1 == shape_.num_chunks()) {
      chunks_.back().backwards.expect(i, end);
      return;
    }
    rank.delivery = delivery_of(task);
    const Delivery& sent = rank.delivery;
    if (sent.source == end_of_task) return;
    arrivals_of(sent.source).expect(i, ports_.arrival(*sent.way, end));  // as far as is known now
  }

  /// Sends what the rank's last task has made.
  void end_task(Rank& rank) {
    const Delivery sent = std::exchange(rank.delivery, {});
    if (sent.source == end_of_task) return;
    Arrivals& arrivals = arrivals_of(sent.source);
    arrivals.send(sent.micro_batch, ports_.send(*sent.way, rank.busy_until));
    if (!arrivals.waits()) await_arrival(sent.source);
  }

  /// Adds an event for the next of what was sent that arrives while its rank is free.
  void await_arrival(int source) {
    const int rank = chunks_[source / 2].rank;
    if (const auto when = arrivals_of(source).await(ranks_[rank].busy_until))
      events_.push({*when, rank, source});
  }

  Arrivals& arrivals_of(int source) {
    Chunk& chunk = chunks_[source / 2];
    return source % 2 == 0 ? chunk.forwards : chunk.backwards;
  }

  Delivery delivery_of(const Task& task) const {
    const int c = task.chunk.value;
    const int i = task.micro_batch.value;
    if (task.kind == TaskKind::forward) {
      return {2 * (c + 1), i, &ports_.forward(c)};
    }
    if (task.kind != TaskKind::backward_input || c == 0) return {};
    return {2 * (c - 1) + 1, i, &ports_.backward(c - 1)};
  }

  const PipelineShape& shape_;
  const ListPolicy* policy_ = nullptr;
  const ListChoices* choices_ = nullptr;
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

ListChoices& ListScheduler::num_options() { return run_->num_options(); }

ListResult* ListScheduler::run(const ListPolicy& policy, const ListChoices& choices, double most) {
  return run_->run(policy, choices, most);
}

ListResult list_schedule(const PipelineShape& shape, const ListPolicy& policy,
                         const ListChoices& choices) {
  return *ListRun(shape).run(policy, choices, infinity);
}

}  // namespace pptrain
