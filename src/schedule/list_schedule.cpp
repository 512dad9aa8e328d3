#include "schedule/list_schedule.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/infinity.hpp"
#include "schedule/list_state.hpp"

namespace pptrain {

/// The state of one schedule while it is made.
class ListRun {
 public:
  explicit ListRun(const PipelineShape& shape)
      : shape_(shape),
        state_{std::vector<Chunk>(shape.num_chunks()),
               std::vector<Rank>(shape.ranks),
               CutPorts(shape),
               {},
               ListChoices(shape.ranks),
               0},
        options_(3 * static_cast<std::size_t>(shape.chunks_per_rank) + 1) {
    for (int c = 0; c < shape.num_chunks(); ++c) {
      state_.chunks[c].rank = shape.rank_of(c);
      state_.chunks[c].seconds = shape.seconds_of(c);
      if (!shape.stored.empty()) state_.chunks[c].bytes = shape.stored[c];
    }
    for (int r = 0; r < shape.ranks; ++r) {
      state_.ranks[r].limit = shape.most_stored.empty()
                                  ? shape.micro_batches * shape.chunks_per_rank
                                  : shape.most_stored[r];
      state_.ranks[r].seconds = shape.rank_seconds(r);
      for (int v = 0; v < shape.chunks_per_rank; ++v)
        state_.ranks[r].chunks.push_back(shape.chunk_of(r, v));
      if (!shape.room.empty()) {
        state_.ranks[r].room = shape.room[r] * PipelineShape::rounding;
        state_.ranks[r].backward = backward_bytes(shape.stored_of(r));
        for (const int c : state_.ranks[r].chunks)
          state_.ranks[r].weight = std::max(state_.ranks[r].weight, shape.stored[c].weight);
      }
    }
    result_.orders.resize(state_.ranks.size());
  }

  ListResult* run(const ListPolicy& policy, const ListChoices& choices, double most) {
    policy_ = &policy;
    num_saved_ = num_shared_ = 0;
    begin();
    return go_on(choices, {}, most, never);
  }

  ListResult* run_changed(const ListChoices& choices, const std::vector<ListChange>& changes,
                          double most) {
    num_shared_ = num_saved_;
    while (num_shared_ > 0 && makes_any(saved_[num_shared_ - 1], changes)) --num_shared_;
    if (num_shared_ == 0) {
      begin();
    } else {
      state_ = saved_[num_shared_ - 1];
    }
    return go_on(choices, changes, most,
                 num_shared_ < num_saved_ ? never : place_of_save(num_saved_));
  }

  void keep() { num_saved_ = num_shared_; }

  ListChoices& num_options() { return state_.num_options; }

 private:
  using Chunk = ListState::Chunk;
  using Rank = ListState::Rank;
  using Delivery = ListState::Delivery;
  static constexpr int end_of_task = ListState::end_of_task;
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

  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

  /// Whether a run has made any of these choices until then.
  static bool makes_any(const ListState& state, const std::vector<ListChange>& changes) {
    return std::any_of(changes.begin(), changes.end(), [&state](const ListChange& change) {
      return state.ranks[change.rank].decisions > change.decision;
    });
  }

  /// Runs from the state to the end, and saves states after `next_save` tasks and more.
  ListResult* go_on(const ListChoices& choices, const std::vector<ListChange>& changes, double most,
                    std::size_t next_save) {
    choices_ = &choices;
    latest_ = most * (1.0 + 1e-9);  // sums of seconds round
    too_late_ = false;
    while (state_.events.any_left()) {
      if (state_.started >= next_save) next_save = save_before(changes);
      const RankEvents::Event event = state_.events.pop();
      if (state_.ranks[event.rank].busy_until <= event.when) {
        end_task(state_.ranks[event.rank]);
        decide(event.rank, event.when);
        if (too_late_) return nullptr;
      }
      if (event.source != end_of_task) await_arrival(event.source);
    }
    finish();
    return result_.makespan <= most ? &result_ : nullptr;
  }

  /// Saves the state, unless the run has made one of the changes. Returns after how many tasks the
  /// next one is to be saved.
  std::size_t save_before(const std::vector<ListChange>& changes) {
    if (makes_any(state_, changes)) return never;
    if (num_saved_ < saved_.size()) {
      saved_[num_saved_] = state_;
    } else {
      saved_.push_back(state_);
    }
    num_shared_ = ++num_saved_;
    return place_of_save(num_saved_);
  }

  /// After how many tasks the state with this number is saved.
  std::size_t place_of_save(std::size_t number) const {
    constexpr std::size_t most_saved = 8;
    const auto tasks = 3 * static_cast<std::size_t>(shape_.num_chunks() * shape_.micro_batches);
    return number < most_saved ? (number + 1) * tasks / (most_saved + 1) : never;
  }

  void begin() {
    const ListPolicy& policy = *policy_;
    state_.started = 0;
    state_.ports.free_all();
    for (int c = 0; c < shape_.num_chunks(); ++c) {
      Chunk& chunk = state_.chunks[c];
      chunk.lead = policy.lead > 0.0
                       ? std::max(1, static_cast<int>(policy.lead * (shape_.num_chunks() - c)))
                       : std::numeric_limits<int>::max();
      chunk.forwards.begin(shape_.micro_batches, c == 0 ? 0.0 : infinity);
      chunk.backwards.begin(shape_.micro_batches, infinity);
      chunk.weight = 0;
    }
    state_.events.clear();
    for (int r = 0; r < shape_.ranks; ++r) {
      Rank& rank = state_.ranks[r];
      static_cast<ListState::RankProgress&>(rank) = {};
      rank.warm_up = policy.warm_up * (shape_.ranks - r) * shape_.chunks_per_rank;
      rank.left = shape_.micro_batches * rank.seconds;
      rank.order.resize(3 *
                        static_cast<std::size_t>(shape_.micro_batches * shape_.chunks_per_rank));
      state_.num_options[r].clear();
      state_.events.push({0.0, r, end_of_task});
    }
    plan_blocks();
  }

  void finish() {
    result_.makespan = 0.0;
    result_.sum_of_ends = 0.0;
    for (std::size_t r = 0; r < state_.ranks.size(); ++r) {
      Rank& rank = state_.ranks[r];
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
        if (state_.chunks[other].forwards.next() != rank.oldest) continue;
        ++needed;
        stored += state_.chunks[other].bytes.before;
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
    Rank& rank = state_.ranks[r];
    num_options_ = 0;
    double next_arrival = infinity;
    bool blocked = false;
    const bool warming = rank.backwards == 0 && rank.forwards < rank.warm_up;
    for (const int c : rank.chunks) {
      const Chunk& chunk = state_.chunks[c];
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
      const Chunk& chunk = state_.chunks[c];
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
    state_.num_options[r].push_back(static_cast<unsigned char>(num_options_));
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
    Chunk& chunk = state_.chunks[option.chunk];
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
    for (const int c : rank.chunks)
      rank.oldest = std::min(rank.oldest, state_.chunks[c].forwards.next());
  }

  void run(Rank& rank, int r, const Task& task, double now, double end) {
    rank.order[rank.started++] = task;
    ++state_.started;
    rank.left -= end - now;
    rank.busy_until = end;
    state_.events.push({end, r, end_of_task});
    const int i = task.micro_batch.value;
    if (task.kind == TaskKind::forward && task.chunk.value + 1 == shape_.num_chunks()) {
      state_.chunks.back().backwards.expect(i, end);
      return;
    }
    rank.delivery = delivery_of(task);
    const Delivery& sent = rank.delivery;
    if (sent.source == end_of_task) return;
    arrivals_of(sent.source).expect(i, state_.ports.arrival(sent.way, end));  // as far as is known
                                                                              // now
  }

  /// Sends what the rank's last task has made.
  void end_task(Rank& rank) {
    const Delivery sent = std::exchange(rank.delivery, {});
    if (sent.source == end_of_task) return;
    Arrivals& arrivals = arrivals_of(sent.source);
    arrivals.send(sent.micro_batch, state_.ports.send(sent.way, rank.busy_until));
    if (!arrivals.waits()) await_arrival(sent.source);
  }

  /// Adds an event for the next of what was sent that arrives while its rank is free.
  void await_arrival(int source) {
    const int rank = state_.chunks[source / 2].rank;
    if (const auto when = arrivals_of(source).await(state_.ranks[rank].busy_until))
      state_.events.push({*when, rank, source});
  }

  Arrivals& arrivals_of(int source) {
    Chunk& chunk = state_.chunks[source / 2];
    return source % 2 == 0 ? chunk.forwards : chunk.backwards;
  }

  Delivery delivery_of(const Task& task) const {
    const int c = task.chunk.value;
    const int i = task.micro_batch.value;
    if (task.kind == TaskKind::forward) {
      return {2 * (c + 1), i, CutPorts::forward(c)};
    }
    if (task.kind != TaskKind::backward_input || c == 0) return {};
    return {2 * (c - 1) + 1, i, CutPorts::backward(c - 1)};
  }

  const PipelineShape& shape_;
  const ListPolicy* policy_ = nullptr;
  const ListChoices* choices_ = nullptr;
  ListState state_;
  std::vector<Option> options_;  // of a decision, the first ones
  std::size_t num_options_ = 0;
  Blocks blocks_;
  double latest_ = infinity;
  bool too_late_ = false;
  ListResult result_;
  std::vector<ListState> saved_;  // of the run that is kept: the first `num_saved_`
  std::size_t num_saved_ = 0;
  std::size_t num_shared_ = 0;  // of these, through which the last run went too
};

ListScheduler::ListScheduler(const PipelineShape& shape) : run_(std::make_unique<ListRun>(shape)) {}

ListScheduler::~ListScheduler() = default;

ListChoices& ListScheduler::num_options() { return run_->num_options(); }

ListResult* ListScheduler::run(const ListPolicy& policy, const ListChoices& choices, double most) {
  return run_->run(policy, choices, most);
}

ListResult* ListScheduler::run_changed(const ListChoices& choices,
                                       const std::vector<ListChange>& changes, double most) {
  return run_->run_changed(choices, changes, most);
}

void ListScheduler::keep() { run_->keep(); }

ListResult list_schedule(const PipelineShape& shape, const ListPolicy& policy,
                         const ListChoices& choices) {
  return *ListRun(shape).run(policy, choices, infinity);
}

}  // namespace pptrain
