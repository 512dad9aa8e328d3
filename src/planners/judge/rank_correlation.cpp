#include "planners/judge/rank_correlation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "planners/judge/simulated_plan.hpp"
#include "planners/published/amp/uniform_search.hpp"
#include "planners/published/published.hpp"

namespace pptrain {
namespace {

/// 1 for the least value; equal ones share the mean of their ranks.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i)
      ranks[order[i]] = 0.5 * static_cast<double>(begin + end + 1);
    begin = end;
  }
  return ranks;
}

/// Different plans with what the forms and the simulator say of them.
class Sample {
 public:
  explicit Sample(const Instance& instance) : instance_(instance), simulator_(instance) {}

  void add(Plan plan) {
    const double tasks = simulator_.tasks(plan);
    if (tasks_ + tasks > most_correlated_tasks || !simulator_.can(plan) || known(plan)) return;
    tasks_ += tasks;
    simulated_.push_back(simulator_.of(plan).iteration_seconds);
    forms_["amp"].push_back(amp_terms(instance_, plan).iteration_seconds);
    forms_["dapple"].push_back(dapple_seconds(instance_, plan));
    forms_["pipedream"].push_back(pipedream_seconds(instance_, plan));
    plans_.push_back(std::move(plan));
  }

  RankCorrelations correlations() const {
    RankCorrelations result;
    result.num_plans = static_cast<int>(plans_.size());
    for (const auto& [form, seconds] : forms_) {
      if (const auto coefficient = rank_correlation(seconds, simulated_))
        result.forms[form] = *coefficient;
    }
    return result;
  }

 private:
  bool known(const Plan& plan) const {
    return std::any_of(plans_.begin(), plans_.end(),
                       [&](const Plan& other) { return same_plan(plan, other); });
  }

  const Instance& instance_;
  PlanSimulator simulator_;
  std::vector<Plan> plans_;
  std::vector<double> simulated_;
  std::map<std::string, std::vector<double>> forms_;
  double tasks_ = 0.0;
};

/// A planner that refuses the instance has no plans.
Outcome outcome_of_any(const Planner& planner, const SearchSpace& space) {
  try {
    return planner.search(space);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  PPTRAIN_ASSERT(a.size() == b.size(), "{} and {} values", a.size(), b.size());
  const std::vector<double> ranks_a = ranks_of(a);
  const std::vector<double> ranks_b = ranks_of(b);
  const double mean = 0.5 * static_cast<double>(a.size() + 1);
  double covariance = 0.0;
  double variance_a = 0.0;
  double variance_b = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    covariance += (ranks_a[i] - mean) * (ranks_b[i] - mean);
    variance_a += (ranks_a[i] - mean) * (ranks_a[i] - mean);
    variance_b += (ranks_b[i] - mean) * (ranks_b[i] - mean);
  }
  if (variance_a == 0.0 || variance_b == 0.0) return std::nullopt;
  return covariance / std::sqrt(variance_a * variance_b);
}

double pipedream_seconds(const Instance& instance, const Plan& plan) {
  const AmpTerms terms = amp_terms(instance, plan);
  double slowest = 0.0;
  for (std::size_t i = 0; i < terms.stage_seconds.size(); ++i) {
    slowest = std::max({slowest, terms.stage_seconds[i], terms.gradient_seconds[i]});
  }
  for (const double cut : terms.cut_seconds) slowest = std::max(slowest, cut);
  return static_cast<double>(plan.micro_batches) * slowest;
}

RankCorrelations correlate_with_simulator(const SearchSpace& space) {
  Sample sample(space.instance);
  for (const auto& planner : published_planners()) {
    Outcome outcome = outcome_of_any(*planner, space);
    if (outcome.plan) sample.add(std::move(*outcome.plan));
    for (GridCandidate& grid : outcome.grids) {
      if (grid.plan) sample.add(std::move(*grid.plan));
    }
  }
  for (const UniformCandidate& candidate : random_candidates(space).found) {
    sample.add(plan_of(space, candidate, "random"));
  }
  return sample.correlations();
}

}  // namespace pptrain
