#include "planners/frames/auto.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/parallel_for.hpp"
#include "planners/divide/device_order.hpp"
#include "planners/divide/polish.hpp"
#include "planners/frames/frame.hpp"
#include "planners/frames/frame_search.hpp"
#include "planners/frames/frame_trials.hpp"
#include "planners/frames/simulated_search.hpp"
#include "planners/meshes/grid.hpp"
#include "planners/published/amp/exhaustive.hpp"
#include "planners/published/amp/remedy.hpp"
#include "planners/published/amp/uniform_planners.hpp"
#include "planners/published/published.hpp"

namespace pptrain {
namespace {

/// Whether the prediction can differ from AMP's estimate, by which the candidates are ranked.
bool predicts_more_than_amp(const Instance& instance) {
  const auto& groups = instance.cluster.groups;
  const auto& layers = instance.profile.layers;
  return std::any_of(groups.begin(), groups.end(),
                     [](const NodeGroup& g) { return g.shares_cores(); }) ||
         std::any_of(layers.begin(), layers.end(),
                     [](const ProfileLayer& l) { return !l.update_seconds.empty(); });
}

void append(UniformCandidates& all, UniformCandidates more) {
  all.found.insert(all.found.end(), std::make_move_iterator(more.found.begin()),
                   std::make_move_iterator(more.found.end()));
  all.num_examined += more.num_examined;
}

/// The uniform grids of all planners, ranked by predicted iteration time.
UniformCandidates uniform_candidates(const SearchSpace& space) {
  const bool ranks_anew = predicts_more_than_amp(space.instance);
  UniformCandidates all = amp_candidates(space, ranks_anew ? Breadth::everything : Breadth::table);
  append(all, megatron_candidates(space));
  append(all, data_parallel_candidates(space));
  std::stable_sort(all.found.begin(), all.found.end(),
                   [](const UniformCandidate& a, const UniformCandidate& b) {
                     return std::tie(a.grid, a.samples, a.division.layers) <
                            std::tie(b.grid, b.samples, b.division.layers);
                   });
  if (!ranks_anew) return all;
  for (UniformCandidate& candidate : all.found) {
    candidate.rank_seconds = plan_of(space, candidate, auto_planner).predicted->iteration_seconds;
  }
  return all;
}

/// The best plan so far, as the union of several searches.
class Best {
 public:
  explicit Best(const SearchSpace& space) : space_(space) {}

  /// Takes the outcome in, its plan if it is faster than the one so far, and tells how many were
  /// looked at.
  void take(const std::string& planner, Outcome outcome) {
    space_.tell_examined(outcome.num_examined);
    add(planner, std::move(outcome));
  }
  /// Takes in an outcome whose candidates have been told.
  void add(const std::string& planner, Outcome outcome) {
    sum_up(outcome);
    if (result.grids.empty()) result.grids = std::move(outcome.grids);
    if (result.why_not.empty()) result.why_not = outcome.why_not;
    if (outcome.plan) offer(*outcome.plan);
    result.beside.push_back({planner, std::move(outcome.plan), std::move(outcome.why_not)});
  }
  /// Takes in what was found along an order of the devices, of which the candidates have been told.
  void add_order(Outcome outcome) {
    sum_up(outcome);
    if (outcome.plan) offer(std::move(*outcome.plan));
  }
  void count(const Outcome& outcome) {
    space_.tell_examined(outcome.num_examined);
    sum_up(outcome);
  }
  /// A plan that no planner has made.
  void offer_checked(Plan plan) {
    if (!is_refused(space_, plan)) offer(finished_plan(space_, std::move(plan), auto_planner));
  }
  /// A finished plan.
  void offer(Plan plan) {
    if (plan.predicted->iteration_seconds >= limit()) return;
    result.plan = finished_plan(space_, std::move(plan), auto_planner);
    space_.tell_found(result.plan->predicted->iteration_seconds);
  }
  /// A plan must take less than this to be better.
  double limit() const {
    if (!result.plan) return std::numeric_limits<double>::infinity();
    return result.plan->predicted->iteration_seconds * (1.0 - tie_tolerance);
  }

  Outcome result;

 private:
  void sum_up(const Outcome& outcome) {
    result.num_examined += outcome.num_examined;
    result.complete = result.complete && outcome.complete;
  }

  const SearchSpace& space_;
};

/// Micro-batch sizes, those nearest to `first` first: a good plan leaves less to search for the
/// others.
std::vector<std::int64_t> micro_batches_around(const SearchSpace& space, std::int64_t first) {
  if (space.restrictions.micro_batch_size) return {*space.restrictions.micro_batch_size};
  std::vector<std::int64_t> sizes = divisors(space.instance.global_batch_size);
  const auto distance = [first](std::int64_t b) {
    return std::abs(std::log2(static_cast<double>(b) / static_cast<double>(first)));
  };
  std::stable_sort(sizes.begin(), sizes.end(),
                   [&](std::int64_t a, std::int64_t b) { return distance(a) < distance(b); });
  return sizes;
}

/// Stages of any size and shape along one order of the devices, with balanced samples, that take
/// less than `known`.
Outcome search_order(const SearchSpace& space, const DeviceOrder& order,
                     const std::optional<Plan>& known) {
  constexpr int most_places = 32;
  space.tell_asks("stages of any shape");
  Best best(space);
  best.result.plan = known;
  LayerSums sums(space.instance);
  OrderedDevices devices(space, order, cut_places(space.instance.cluster, order, most_places));
  StageSearch search(space, sums, devices, Merging::close, Shares::balanced);
  for (const std::int64_t micro_batch :
       micro_batches_around(space, known ? known->micro_batch_size : 1)) {
    const auto chain = search.search(micro_batch, best.limit());
    if (chain) best.offer_checked(search.plan_of(*chain));
    if (search.stopped()) best.result.complete = false;
  }
  best.result.num_examined = search.num_examined();
  space.tell_examined(search.num_examined());
  return std::move(best.result);
}

/// In which order the planners but the first, by their place in `names`, and the searches along
/// orders behind them get a core. Alpa's planner takes longest, so it is the first: the others fill
/// the time of the other cores beside it.
std::vector<std::size_t> turns_of(const std::vector<std::string>& names, std::size_t num_orders) {
  std::vector<std::size_t> turns(names.size() - 1 + num_orders);
  std::iota(turns.begin(), turns.end(), std::size_t{1});
  const auto longest = std::find(names.begin(), names.end(), "alpa") - names.begin();
  std::rotate(turns.begin(), turns.begin() + longest - 1, turns.end());
  return turns;
}

/// Asks the planners, and searches along orders of the devices for what takes less than AMP's plan,
/// on all cores. Plans are taken in the order in which one core would find them.
void ask_planners(const SearchSpace& space, const SearchSpace& papers, Best& best) {
  // Most need far less. The others are stopped however long the whole search may go on: frames find
  // what they would.
  const double most_seconds = 5.0 * std::max(1.0, effort_factor(papers.restrictions.effort));
  const auto ask = [&](const std::string& name) {
    papers.tell_asks("asking " + name);
    SearchSpace share = papers;
    share.stop = papers.stop.within(std::min(most_seconds, papers.stop.seconds_left() / 2.0));
    Outcome outcome = published_planner(name).search(share);
    papers.tell_examined(outcome.num_examined);
    return outcome;
  };
  const std::vector<std::string> names = asked_by_auto(published_planners());
  const std::vector<DeviceOrder> orders = device_orders(space.instance);
  std::vector<Outcome> asked(names.size());
  asked.front() = ask(names.front());
  std::optional<Plan> known = asked.front().plan;
  if (known) known = finished_plan(space, std::move(*known), auto_planner);
  std::vector<Outcome> along(orders.size());
  const std::vector<std::size_t> turns = turns_of(names, orders.size());
  const auto search = [&](int, int i) {
    const std::size_t planner = turns[static_cast<std::size_t>(i)];
    if (planner < names.size()) {
      asked[planner] = ask(names[planner]);
    } else {
      along[planner - names.size()] = search_order(space, orders[planner - names.size()], known);
    }
  };
  const bool checks = papers.check != nullptr;  // which simulates for one planner at a time
  parallel_for(static_cast<int>(turns.size()), checks ? 1 : threads_of(papers.restrictions),
               search);
  for (std::size_t i = 0; i < names.size(); ++i) best.add(names[i], std::move(asked[i]));
  for (Outcome& outcome : along) best.add_order(std::move(outcome));
}

/// What the closed forms hold best, with what the planners that were asked hold best.
Outcome best_by_estimate(const SearchSpace& space) {
  const Restrictions as_published = as_in_papers(space.restrictions);
  const SearchSpace papers = {space.instance, as_published, space.schedule,
                              space.stop,     space.check,  space.progress};
  Best best(space);
  if (plans_only_grids(space.schedule, space.restrictions)) {
    for (const char* asked : {"amp", "megatron", "data-parallel"})
      best.take(asked, published_planner(asked).search(papers));
    Outcome grids = outcome_of(papers, uniform_candidates(papers), auto_planner);
    best.count(grids);
    if (grids.plan) best.offer(std::move(*grids.plan));
    best.result.grids = std::move(grids.grids);
    return std::move(best.result);
  }
  if (!space.restrictions.annotations.empty()) {  // only one planner follows them
    best.take("whale", published_planner("whale").search(space));
    return std::move(best.result);
  }
  ask_planners(space, papers, best);
  if (predicts_more_than_amp(space.instance)) {
    Outcome grids = outcome_of(papers, uniform_candidates(papers), auto_planner);
    if (grids.plan) best.offer(std::move(*grids.plan));
    best.count(grids);
  }
  if (best.result.plan) {
    Outcome polished = polish(space, *best.result.plan);
    best.offer(std::move(*polished.plan));
    best.count(polished);
  }
  if (count_exhaustive_plans(papers) <= most_exhaustive_plans) {
    space.tell_asks("asking exhaustive");
    best.take("exhaustive", published_planner("exhaustive").search(papers));
  }
  if (!best.result.plan) best.result.why_not += offload_remedy(space);
  return std::move(best.result);
}

/// Adds what is best where every stage saves memory in one way: plans of another kind than the best
/// may be faster in the simulator, and the thriftiest may fit there where the closed form knows of
/// none.
void add_seeds(const SearchSpace& space, Outcome& outcome) {
  const Restrictions& free = space.restrictions;
  const std::vector<int> zero_stages =
      free.zero_stage ? std::vector{static_cast<int>(*free.zero_stage)} : std::vector{1, 2, 3};
  const std::vector<Recompute> recomputes =
      free.recompute ? std::vector{*free.recompute} : std::vector{Recompute::none, Recompute::full};
  const bool all = is_small(space.instance);
  if (!all && outcome.plan) return;
  const auto add = [&outcome](std::optional<Plan>& plan) {
    if (plan) outcome.seeds.push_back(std::move(*plan));
  };
  for (const int zero_stage : zero_stages) {
    for (const Recompute recompute : recomputes) {
      const bool thriftiest = zero_stage == zero_stages.back() && recompute == recomputes.back();
      if (!thriftiest && !(all && recompute == recomputes.front())) continue;
      Restrictions fixed = free;
      fixed.zero_stage = zero_stage;
      fixed.recompute = recompute;
      const SearchSpace share = {space.instance, fixed,       space.schedule,
                                 space.stop,     space.check, space.progress};
      Outcome seeds = best_by_estimate(share);
      add(seeds.plan);
      for (Beside& beside : seeds.beside) add(beside.plan);
      outcome.num_examined += seeds.num_examined;
    }
  }
}

}  // namespace

Outcome AutoPlanner::search(const SearchSpace& space) const {
  constexpr double share = 0.3;  // of the time that is left; the rest is for frames and simulation
  SearchSpace by_estimate = space;
  by_estimate.stop = space.stop.within(share * space.stop.seconds_left());
  Outcome outcome = best_by_estimate(by_estimate);
  if (!plans_only_grids(space.schedule, space.restrictions) &&
      space.restrictions.annotations.empty()) {
    add_seeds(by_estimate, outcome);
  }
  return choose_by_simulation(space, std::move(outcome));
}

}  // namespace pptrain
