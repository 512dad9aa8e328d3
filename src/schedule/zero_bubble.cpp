#include "schedule/zero_bubble.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>

#include "base/error.hpp"
#include "base/infinity.hpp"
#include "schedule/improve.hpp"
#include "schedule/list_schedule.hpp"
#include "schedule/orders.hpp"
#include "schedule/replay.hpp"

namespace pptrain {
namespace {

/// A policy and what it makes; without a policy orders that are known.
struct Attempt {
  std::optional<ListPolicy> policy;
  ListResult result;
};

/// The orders of a schedule that has B and W in one, with W behind B.
std::vector<TaskOrder> split(const std::vector<TaskOrder>& orders) {
  std::vector<TaskOrder> all;
  for (const TaskOrder& order : orders) {
    TaskOrder& apart = all.emplace_back();
    for (Task task : order) {
      if (task.kind == TaskKind::backward) task.kind = TaskKind::backward_input;
      apart.push_back(task);
      if (task.kind != TaskKind::backward_input) continue;
      task.kind = TaskKind::backward_weight;
      apart.push_back(task);
    }
  }
  return all;
}

bool better(const ListResult& a, const ListResult& b) {
  return a.makespan < b.makespan || (a.makespan == b.makespan && a.sum_of_ends < b.sum_of_ends);
}

class Search {
 public:
  explicit Search(const PipelineShape& shape)
      : shape_(shape),
        scheduler_(shape),
        tasks_(3L * shape.num_chunks() * shape.micro_batches),
        bound_(makespan_bound(shape) * (1.0 + close_enough)) {}

  FoundOrders run() {
    try_policies();
    try_alternating();
    std::stable_sort(attempts_.begin(), attempts_.end(),
                     [](const Attempt& a, const Attempt& b) { return better(a.result, b.result); });
    if (attempts_.size() > most_climbs()) attempts_.resize(most_climbs());
    if (is_sketch()) return {std::move(attempts_.front().result.orders), work_};
    for (std::size_t i = 0; i < attempts_.size() && !optimal(attempts_.front()); ++i) {
      climb(attempts_[i]);
      if (better(attempts_[i].result, attempts_.front().result))
        std::swap(attempts_[i], attempts_.front());
    }
    return {std::move(attempts_.front().result.orders), work_};
  }

 private:
  /// Tasks scheduled over all attempts: the work that an order may cost.
  static constexpr long most_policy_work = 800'000;
  static constexpr long most_sketch_work = 100'000;
  static constexpr long most_choice_work = 300'000;
  static constexpr long most_choices = 3'000;  // tried from a policy
  static constexpr long most_move_work = 100'000;
  static constexpr long most_moves = 100;
  static constexpr long brief_part = 4;         // of the work of steps
  static constexpr double close_enough = 1e-3;  // above the bound: times are not known better than
                                                // that

  bool optimal(const Attempt& attempt) const { return attempt.result.makespan <= bound_; }

  static std::vector<ListPolicy> policies(int chunks_per_rank) {
    std::vector<ListPolicy> all;
    for (const double patience : {0.0, 1.0, 0.5, 0.75, 0.25}) {
      for (const int warm_up : {0, 1, 2}) {
        for (const auto chunks :
             {ListPolicy::Chunks::deepest, ListPolicy::Chunks::oldest_micro_batch}) {
          if (chunks_per_rank == 1 && chunks != ListPolicy::Chunks::deepest) continue;
          for (const double lead : {0.0, 1.0, 1.5, 2.0})
            all.push_back({warm_up, patience, lead, chunks, {}});
        }
      }
    }
    return all;
  }

  bool is_sketch() const { return shape_.effort == OrderEffort::sketch; }
  /// The policies that sketches and brief searches try, a sixth of all. Of 2,093 sketches in seven
  /// searches 95 % were at most 0.2 % longer than by all policies.
  static bool is_likely(const ListPolicy& policy) {
    return policy.warm_up == 0 && policy.lead <= 1.0;
  }
  /// How many policies' schedules a search climbs from; a sketch takes the best one as it is.
  std::size_t most_climbs() const { return is_sketch() ? 1 : 2; }

  /// At least one policy, then as many as the work allows.
  void try_policies() {
    const long most_work = is_sketch() ? most_sketch_work : most_policy_work;
    for (const ListPolicy& policy : policies(shape_.chunks_per_rank)) {
      if (shape_.effort != OrderEffort::full && !is_likely(policy)) continue;
      work_ += tasks_;
      if (const ListResult* result = scheduler_.run(policy, {}, latest_of_use())) {
        attempts_.push_back({policy, *result});
        if (optimal(attempts_.back())) return;
      }
      if (work_ + tasks_ > most_work) return;
    }
  }

  /// Looks at 1F1B, or its interleaved form, where its orders fit: they store little.
  void try_alternating() {
    if (shape_.placement != ChunkPlacement::loop || optimal(attempts_.back())) return;
    ListResult result;
    result.orders = split(shape_.chunks_per_rank == 1 ? one_f_one_b_orders(shape_, WarmUp::policy_a)
                                                      : interleaved_orders(shape_));
    for (int r = 0; r < shape_.ranks; ++r) {
      if (!fits(shape_, r, result.orders[r])) return;
    }
    work_ += tasks_;
    const std::optional<Replay> replayed = replay(shape_, result.orders);
    if (!replayed || replayed->makespan > latest_of_use()) return;
    result.makespan = replayed->makespan;
    result.sum_of_ends =
        std::accumulate(replayed->last_ends.begin(), replayed->last_ends.end(), 0.0);
    attempts_.push_back({std::nullopt, std::move(result)});
  }

  /// A schedule that ends later than as many others as are climbed from is of no use.
  double latest_of_use() const {
    const std::size_t num_used = most_climbs();
    if (attempts_.size() < num_used) return infinity;
    std::vector<double> ends;
    for (const Attempt& attempt : attempts_) ends.push_back(attempt.result.makespan);
    const auto last_used = ends.begin() + static_cast<std::ptrdiff_t>(num_used) - 1;
    std::nth_element(ends.begin(), last_used, ends.end());
    return *last_used;
  }

  /// Changes choices of the policy; then moves tasks.
  void climb(Attempt& attempt) {
    const long part = shape_.effort == OrderEffort::full ? 1 : brief_part;
    if (attempt.policy) change_choices(attempt, part);
    const long move_work = std::min(most_move_work / part, most_moves * tasks_);
    if (!optimal(attempt)) work_ += move_work;
    attempt.result.makespan = improve_orders(shape_, bound_, move_work, 1, attempt.result.orders);
  }

  /// Changes up to three choices at a time and keeps what is not worse.
  void change_choices(Attempt& attempt, long part) {
    std::mt19937 random(1);
    ListChoices choices(shape_.ranks, std::vector<unsigned char>(tasks_ / shape_.ranks, 0));
    const long choice_work = std::min(most_choice_work / part, most_choices * tasks_);
    if (!optimal(attempt)) scheduler_.run(*attempt.policy, choices, infinity);
    ListChoices num_options = scheduler_.num_options();
    std::vector<ListChange> decisions;
    for (long work = 0; !optimal(attempt) && work + tasks_ <= choice_work; work += tasks_) {
      work_ += tasks_;
      const std::vector<ChangedChoice> changes = change(choices, random);
      decisions.clear();
      for (const ChangedChoice& one : changes) {
        if (changes_decision(one, choices, num_options)) decisions.push_back({one.rank, one.place});
      }
      if (decisions.empty()) continue;  // the schedule stays what it is, and so no worse
      ListResult* result = scheduler_.run_changed(choices, decisions, attempt.result.makespan);
      if (result != nullptr && !better(attempt.result, *result)) {
        std::swap(attempt.result, *result);
        std::swap(num_options, scheduler_.num_options());
        scheduler_.keep();
        continue;
      }
      for (auto one = changes.rbegin(); one != changes.rend(); ++one)
        choices[one->rank][one->place] = one->before;
    }
  }

  struct ChangedChoice {
    std::size_t rank = 0;
    std::size_t place = 0;
    unsigned char before = 0;
  };

  static std::vector<ChangedChoice> change(ListChoices& choices, std::mt19937& random) {
    std::vector<ChangedChoice> changes;
    for (auto left = 1 + random() % 3; left > 0; --left) {
      const std::size_t rank = random() % choices.size();
      const std::size_t place = random() % choices[rank].size();
      unsigned char& choice = choices[rank][place];
      changes.push_back({rank, place, choice});
      choice = static_cast<unsigned char>(choice == 0 ? 1 + random() % 2 : 0);
    }
    return changes;
  }

  /// Whether what is chosen there now is another of the options that the rank had.
  static bool changes_decision(const ChangedChoice& one, const ListChoices& choices,
                               const ListChoices& num_options) {
    const std::vector<unsigned char>& counts = num_options[one.rank];
    if (one.place >= counts.size()) return false;
    return one.before % counts[one.place] != choices[one.rank][one.place] % counts[one.place];
  }

  const PipelineShape& shape_;
  ListScheduler scheduler_;
  long tasks_;
  long work_ = 0;  // tasks scheduled so far
  double bound_;
  std::vector<Attempt> attempts_;
};

PipelineShape limited(PipelineShape shape, int most_stored) {
  if (shape.most_stored.empty()) shape.most_stored.assign(shape.ranks, most_stored);
  for (int& limit : shape.most_stored) limit = std::min(limit, most_stored);
  return shape;
}

}  // namespace

FoundOrders zero_bubble_orders(const PipelineShape& shape, ZeroBubble kind) {
  if (kind == ZeroBubble::h2) return zero_bubble_orders(limited(shape, 2 * shape.ranks));
  return zero_bubble_orders(limited(shape, shape.ranks * shape.chunks_per_rank));
}

FoundOrders zero_bubble_orders(const PipelineShape& shape) {
  for (const int limit : shape.most_stored) {
    if (limit >= shape.chunks_per_rank) continue;
    throw_bad_input({"schedule", fmt::format("a rank stores at most {} activations", limit),
                     fmt::format("a micro-batch needs {} there", shape.chunks_per_rank),
                     "use smaller micro-batches or recomputation"});
  }
  return Search(shape).run();
}

}  // namespace pptrain
