#include "planners/what_if/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <map>

#include "base/error.hpp"
#include "base/parallel_for.hpp"
#include "cluster/read.hpp"
#include "config/read.hpp"
#include "planners/describe/throughput.hpp"

namespace pptrain {
namespace {

constexpr double seconds_of_hour = 3600.0;

/// What a plan depends on, as text: two points with the same text have the same plan.
std::string search_key(const SweepPoint& point) {
  Config config = point.config;
  config.cluster.file.clear();
  Cluster cluster = point.cluster;
  cluster.name.clear();
  if (objective_of(config).is_time_alone()) {
    cluster.currency.clear();
    for (NodeGroup& group : cluster.groups) group.price.reset();
    for (Switch& s : cluster.switches) s.egress = 0.0;
  }
  return fmt::format("{}\n{}\n{}\n{}\n{}", write_config(config), config.model.description,
                     write_cluster(cluster), point.planner,
                     point.restrictions.micro_batch_size.value_or(0));
}

/// What a search found.
struct Found {
  std::optional<Plan> plan;
  std::string why_not;
  bool is_refused = false;
};

Instance instance_of(const SweepPoint& point) {
  return {point.profile, point.cluster, point.config.planned_batch_size(), point.ties};
}

Found search_point(const SweepPoint& point) {
  const Instance instance = instance_of(point);
  const CostQuestion question =
      cost_question(point.config, model_work(point.config, point.profile), point.training_tokens);
  Restrictions restrictions = point.restrictions;
  restrictions.threads = 1;
  try {
    check_instance(instance, point.config.source);
    SearchResult result =
        search_by_objective({point.planner, instance, restrictions, point.config.source,
                             Stop(point.config.planner.time_limit)},
                            objective_of(point.config), question);
    return {std::move(result.plan), std::move(result.why_not), false};
  } catch (const Error& error) {
    return {std::nullopt, error.what(), error.code() == ExitCode::bad_input};
  }
}

SweepRow row_of(const SweepPoint& point, const Found& found) {
  SweepRow row;
  row.values = point.values;
  row.cluster = point.cluster;
  row.plan = found.plan;
  row.why_not = found.why_not;
  row.is_refused = found.is_refused;
  const ModelWork work = model_work(point.config, point.profile);
  row.tokens_per_sample = work.tokens_per_sample;
  if (!row.plan) return row;
  row.plan->cluster = point.cluster.name;
  const Instance instance = instance_of(point);
  predict_throughput(instance, work, *row.plan, point.training_tokens);
  predict_cost(instance, cost_question(point.config, work, point.training_tokens), *row.plan);
  return row;
}

SweepRow refused_row(const SweepPoint& point) {
  SweepRow row;
  row.values = point.values;
  row.cluster = point.cluster;
  row.why_not = point.refusal;
  row.is_refused = true;
  return row;
}

std::string common_currency(const std::vector<SweepPoint>& points) {
  std::string currency;
  for (const SweepPoint& point : points) {
    if (point.cluster.currency.empty() || point.cluster.currency == currency) continue;
    if (!currency.empty()) {
      throw_bad_input({"command line: sweep",
                       fmt::format("prices in {} and {}", currency, point.cluster.currency),
                       "amounts of different currencies cannot be compared",
                       "give all prices in one currency"});
    }
    currency = point.cluster.currency;
  }
  return currency;
}

}  // namespace

double SweepRow::seconds_each(bool per_sample) const {
  const double amount =
      static_cast<double>(plan->samples_per_step()) * (per_sample ? 1.0 : *tokens_per_sample);
  const double goodput = plan->predicted->failures ? plan->predicted->failures->goodput : 1.0;
  return plan->predicted->iteration_seconds / goodput / amount;
}

double SweepRow::money_each(bool per_sample) const {
  if (!has_money()) return seconds_each(per_sample) / seconds_of_hour * plan->num_devices();
  const double amount =
      static_cast<double>(plan->samples_per_step()) * (per_sample ? 1.0 : *tokens_per_sample);
  return *plan->predicted->cost->money_per_step / amount;
}

bool Sweep::has_plans() const {
  return std::any_of(rows.begin(), rows.end(),
                     [](const SweepRow& row) { return row.plan.has_value(); });
}

void mark_front(Sweep& sweep) {
  std::vector<SweepRow*> order;
  for (SweepRow& row : sweep.rows) {
    row.on_front = false;
    if (row.plan && (sweep.currency.empty() || row.has_money())) order.push_back(&row);
  }
  const bool per_sample = !sweep.counts_tokens;
  std::stable_sort(order.begin(), order.end(), [per_sample](const SweepRow* a, const SweepRow* b) {
    const double first = a->seconds_each(per_sample);
    const double second = b->seconds_each(per_sample);
    return first != second ? first < second : a->money_each(per_sample) < b->money_each(per_sample);
  });
  double least = std::numeric_limits<double>::infinity();
  double seconds = 0.0;
  for (SweepRow* row : order) {
    const double money = row->money_each(per_sample);
    row->on_front = money < least || (money == least && row->seconds_each(per_sample) == seconds);
    if (money >= least) continue;
    least = money;
    seconds = row->seconds_each(per_sample);
  }
}

Sweep run_sweep(std::vector<SweepAxis> axes, const std::vector<SweepPoint>& points, int threads,
                const SweepProgress& progress) {
  const auto start = std::chrono::steady_clock::now();
  Sweep sweep;
  sweep.axes = std::move(axes);
  sweep.currency = common_currency(points);
  std::map<std::string, int> searches;
  std::vector<int> search_of;
  std::vector<const SweepPoint*> searched;
  for (const SweepPoint& point : points) {
    if (!point.refusal.empty()) {
      search_of.push_back(-1);
      continue;
    }
    const auto [entry, is_new] =
        searches.try_emplace(search_key(point), static_cast<int>(searched.size()));
    if (is_new) searched.push_back(&point);
    search_of.push_back(entry->second);
  }
  sweep.num_planned = static_cast<int>(searched.size());
  std::vector<Found> found(searched.size());
  std::atomic<int> done = 0;
  if (progress) progress(0, sweep.num_planned);
  parallel_for(sweep.num_planned, threads, [&](int, int i) {
    const auto place = static_cast<std::size_t>(i);
    found[place] = search_point(*searched[place]);
    if (progress) progress(++done, sweep.num_planned);
  });
  sweep.rows.resize(points.size());
  parallel_for(static_cast<int>(points.size()), threads, [&](int, int i) {
    const auto place = static_cast<std::size_t>(i);
    const int search = search_of[place];
    sweep.rows[place] = search < 0 ? refused_row(points[place])
                                   : row_of(points[place], found[static_cast<std::size_t>(search)]);
  });
  sweep.counts_tokens = std::all_of(sweep.rows.begin(), sweep.rows.end(), [](const SweepRow& row) {
    return !row.plan || row.tokens_per_sample;
  });
  mark_front(sweep);
  sweep.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return sweep;
}

}  // namespace pptrain
