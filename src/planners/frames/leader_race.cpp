#include "planners/frames/leader_race.hpp"

#include <algorithm>
#include <atomic>

#include "base/infinity.hpp"
#include "base/parallel_for.hpp"

namespace pptrain {
namespace {

/// The part of all work that so many leaders get at first: halved with their number, until `most`
/// are left.
double first_share(std::size_t num_leaders, std::size_t most) {
  double share = 1.0;
  for (std::size_t left = num_leaders; left > most; left = (left + 1) / 2) share /= 2.0;
  return share;
}

/// How many times as long as the best leader takes one may take that is improved at all. In twelve
/// races the winner had begun at most 1.12 times as long as the best.
constexpr double most_behind = 1.25;

/// The leaders that may become the best.
std::vector<std::size_t> hopeful(const std::vector<TriedPlan>& leaders) {
  double best = infinity;
  for (const TriedPlan& leader : leaders) best = std::min(best, leader.seconds);
  std::vector<std::size_t> running;
  for (std::size_t i = 0; i < leaders.size(); ++i) {
    if (leaders[i].seconds <= most_behind * best) running.push_back(i);
  }
  return running;
}

/// The running searches that have more to do, and of these the faster ones, at most half as many as
/// run.
std::vector<std::size_t> faster_half(const std::vector<std::size_t>& running,
                                     const std::vector<LocalSearch>& searches,
                                     const std::vector<TriedPlan>& leaders) {
  std::vector<std::size_t> left;
  for (const std::size_t i : running) {
    if (!searches[i].ended()) left.push_back(i);
  }
  std::stable_sort(left.begin(), left.end(), [&](std::size_t a, std::size_t b) {
    return leaders[a].seconds < leaders[b].seconds;
  });
  left.resize(std::min(left.size(), (running.size() + 1) / 2));
  return left;
}

/// Tells those who serve that a search has ended, also by an exception.
class SearchEnd {
 public:
  explicit SearchEnd(StepsAhead& ahead) : ahead_(ahead) {}
  SearchEnd(const SearchEnd&) = delete;
  SearchEnd& operator=(const SearchEnd&) = delete;
  ~SearchEnd() { ahead_.end_search(); }

 private:
  StepsAhead& ahead_;
};

}  // namespace

std::vector<LocalSearch> LeaderRace::run(std::vector<TriedPlan>& leaders, std::size_t most_at_last,
                                         LocalSearch::Kind kind, double work, OrderEffort effort) {
  std::vector<LocalSearch> searches(leaders.size(), LocalSearch(space_, kind));
  std::vector<std::size_t> running = hopeful(leaders);
  KnownPlans visited;
  double spent = 0.0;
  for (double share = first_share(running.size(), most_at_last); !running.empty(); share = spent) {
    improve(leaders, running, searches, visited, share * work, effort);
    spent += share;
    if (spent >= 1.0) break;
    running = faster_half(running, searches, leaders);
  }
  return searches;
}

/// Improves some leaders at a time on all cores; how many, and so where a search meets the path of
/// one before it, does not depend on the number of cores. A thread without a leader simulates steps
/// of the others ahead.
void LeaderRace::improve(std::vector<TriedPlan>& leaders, const std::vector<std::size_t>& running,
                         std::vector<LocalSearch>& searches, KnownPlans& visited, double work,
                         OrderEffort effort) {
  constexpr std::size_t at_a_time = 8;
  constexpr int most_threads = at_a_time + StepsAhead::most_offered;  // more would have nothing to
                                                                      // do
  const int threads = std::min(threads_of(space_.restrictions), most_threads);
  std::vector<std::unique_ptr<PlanSimulator>>& simulators = simulators_[effort];
  while (std::ssize(simulators) < threads) {
    simulators.push_back(std::make_unique<PlanSimulator>(space_.instance, effort, orders_));
  }
  for (std::size_t first = 0; first < running.size(); first += at_a_time) {
    const std::size_t end = std::min(running.size(), first + at_a_time);
    std::atomic<std::size_t> next = first;
    StepsAhead ahead(end - first);
    parallel_for(threads, threads, [&](int, int thread) {
      PlanSimulator& simulator = *simulators[static_cast<std::size_t>(thread)];
      for (std::size_t i = next++; i < end; i = next++) {
        const SearchEnd when_done(ahead);
        const std::size_t leader = running[i];
        searches[leader].improve(simulator, visited, leaders[leader], work, &ahead);
      }
      ahead.serve(simulator);
    });
    for (std::size_t i = first; i < end; ++i) {
      for (const Plan& plan : searches[running[i]].path()) visited.add(plan);
    }
  }
}

}  // namespace pptrain
