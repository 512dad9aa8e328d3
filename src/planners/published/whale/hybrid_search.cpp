#include "planners/published/whale/hybrid_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "planners/published/whale/uneven_shards.hpp"
#include "planners/published/whale/virtual_devices.hpp"

namespace pptrain {
namespace {

constexpr std::size_t most_choices = 8;       ///< runs that are made into a stage, the fastest ones
constexpr std::size_t most_listed = 1 << 20;  ///< of which these are chosen at a time

/// Whether all kinds of the cluster have rows of each layer at degree n.
std::vector<bool> layers_with_rows(const Instance& instance, int n) {
  const auto& groups = instance.cluster.groups;
  std::vector<bool> known;
  for (int l = 0; l < instance.profile.num_layers(); ++l) {
    known.push_back(std::all_of(groups.begin(), groups.end(), [&](const NodeGroup& group) {
      return instance.profile.has_degree(l, group.device_kind, n);
    }));
  }
  return known;
}

/// Split parts as runs of layers, where part p begins with layer `begins[p]`.
std::vector<Interval> split_runs(const AnnotatedModel& model, const std::vector<int>& begins,
                                 int layers) {
  std::vector<Interval> runs;
  for (std::size_t p = 0; p < begins.size(); ++p) {
    if (model.parts[p].primitive != Primitive::split) continue;
    const int end = p + 1 < begins.size() ? begins[p + 1] : layers;
    if (!runs.empty() && runs.back().end == begins[p]) {
      runs.back().end = end;
    } else {
      runs.push_back({begins[p], end});
    }
  }
  return runs;
}

/// The beginnings with the least value, changed one by one until none gets better.
std::vector<int> best_begins(const AnnotatedModel& model,
                             const std::function<double(const std::vector<int>&)>& value) {
  std::vector<int> begins;
  for (const AnnotatedPart& part : model.parts) begins.push_back(part.last_begin);
  double least = value(begins);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t p = 0; p < begins.size(); ++p) {
      const int before = begins[p];
      int best = before;
      for (int begin = model.parts[p].first_begin; begin <= model.parts[p].last_begin; ++begin) {
        begins[p] = begin;
        const double mine = value(begins);
        if (mine >= least) continue;
        least = mine;
        best = begin;
      }
      begins[p] = best;
      changed = changed || best != before;
    }
  }
  return begins;
}

}  // namespace

double HybridSearch::in_flight(std::int64_t micro_batch) const {
  return static_cast<double>(
      micro_batches_in_flight(plan_with(space_, micro_batch, 1), StageId(0)));
}

double HybridSearch::seconds(const SharedStage::Cost& cost, std::int64_t micro_batch) const {
  return static_cast<double>(space_.instance.global_batch_size / micro_batch) * cost.seconds +
         cost.gradient_seconds;
}

bool HybridSearch::offer(const Pair& pair, std::int64_t micro_batch, std::optional<Stage> stage) {
  if (!stage) return false;
  ++num_examined_;
  Plan plan = plan_with(space_, micro_batch, 1);
  plan.stages[0] = std::move(*stage);
  best_.offer(space_, std::move(plan),
              {1, pair.base.replicas(), pair.base.tensor_parallel(), micro_batch, pair.order,
               pair.runs.tensor_parallel()});
  return true;
}

void HybridSearch::search_runs(double limit) {
  const Instance& instance = space_.instance;
  const Restrictions& fixed = space_.restrictions;
  const int devices = instance.cluster.num_devices();
  if (fixed.data || fixed.tensor || (fixed.pipeline && *fixed.pipeline != 1)) return;
  const std::vector<int> degrees = instance.profile.degrees();
  int order = 0;
  for (const VirtualDevices& sequence : virtual_devices(instance.cluster, {devices}, 1)) {
    for (const int n : degrees) {
      const std::vector<bool> known = layers_with_rows(instance, n);
      if (devices % n != 0 || std::find(known.begin(), known.end(), false) != known.end()) continue;
      for (const int other : degrees) {
        if (other == n || devices % other != 0) continue;
        for (const Pair& pair : pairs(n, other, sequence[0], order)) search_runs_of(pair, limit);
      }
    }
    order += 2;
  }
}

/// Pairs with even shards, and with uneven ones where members differ.
std::deque<HybridSearch::Pair> HybridSearch::pairs(int base, int runs,
                                                   const std::vector<DeviceId>& devices,
                                                   int order) {
  const Cluster& cluster = space_.instance.cluster;
  std::deque<Pair> pairs;
  pairs.push_back({StageMesh(cluster, base, devices),
                   StageMesh(cluster, runs, devices, Sharding::patterns), order});
  const Shards shards =
      uneven_shards(space_.instance, runs, devices, 0.0, space_.restrictions.has_whole_experts());
  if (!shards.empty()) {
    pairs.push_back({StageMesh(cluster, base, devices),
                     StageMesh(cluster, runs, devices, Sharding::patterns, shards), order + 1});
  }
  return pairs;
}

void HybridSearch::search_runs_of(const Pair& pair, double limit) {
  for (const std::int64_t micro_batch :
       micro_batches_for(space_, std::max(pair.base.replicas(), pair.runs.replicas()))) {
    for (const StageOption& option : stage_options(space_)) {
      if (space_.stop.requested()) {
        complete_ = false;
        return;
      }
      const SharedStage stage(space_.instance, times_, {pair.base, pair.runs}, micro_batch, option,
                              in_flight(micro_batch));
      search_runs_of(stage, pair, micro_batch, std::min(limit, best_.seconds()));
    }
  }
}

void HybridSearch::search_runs_of(const SharedStage& stage, const Pair& pair,
                                  std::int64_t micro_batch, double limit) {
  const double micro_batches = static_cast<double>(space_.instance.global_batch_size / micro_batch);
  for (const Choice& choice :
       fastest_runs(stage, pair.runs.tensor_parallel(), micro_batches, limit)) {
    if (choice.seconds >= best_.seconds()) return;
    offer(pair, micro_batch, stage.stage(all_layers(), choice.runs));
  }
}

std::vector<HybridSearch::Choice> HybridSearch::fastest_runs(const SharedStage& stage,
                                                             int tensor_parallel,
                                                             double micro_batches, double limit) {
  std::vector<Choice> choices;
  if (micro_batches * stage.least_seconds(all_layers()) >= limit) return choices;
  const std::vector<bool> known = layers_with_rows(space_.instance, tensor_parallel);
  const auto layers = static_cast<int>(known.size());
  const auto keep_fastest = [&choices] {
    const std::size_t kept = std::min(choices.size(), most_choices);
    std::partial_sort(choices.begin(), choices.begin() + static_cast<std::ptrdiff_t>(kept),
                      choices.end(),
                      [](const Choice& a, const Choice& b) { return a.seconds < b.seconds; });
    choices.resize(kept);
  };
  for (int begin = 0; begin < layers && !space_.stop.requested(); ++begin) {
    if (choices.size() > most_listed) keep_fastest();
    for (int end = begin + 1; end <= layers && known[end - 1]; ++end) {
      if (begin == 0 && end == layers) continue;  // that is the other degree alone
      Choice choice = {0.0, {{begin, end}}};
      const SharedStage::Cost cost = stage.cost(all_layers(), choice.runs);
      choice.seconds = micro_batches * cost.seconds + cost.gradient_seconds;
      if (choice.seconds < limit) choices.push_back(std::move(choice));
    }
  }
  if (space_.stop.requested()) complete_ = false;
  keep_fastest();
  return choices;
}

void HybridSearch::search_annotated(const AnnotatedModel& model) {
  const Instance& instance = space_.instance;
  const int devices = model.parts.front().devices;
  int order = 0;
  for (const VirtualDevices& sequence :
       virtual_devices(instance.cluster, {devices}, model.pipelines)) {
    for (const Pair& pair : pairs(1, devices, sequence[0], order)) {
      for (const std::int64_t micro_batch : micro_batches_for(space_, pair.base.replicas())) {
        for (const StageOption& option : stage_options(space_)) {
          if (space_.stop.requested()) complete_ = false;
          if (complete_) search_annotated(model, pair, micro_batch, option);
        }
      }
    }
    order += 2;
  }
  if (why_not_.empty()) {
    why_not_ = fmt::format("no micro-batch of the {} samples holds one for each of the {} devices",
                           instance.global_batch_size, instance.cluster.num_devices());
  }
}

void HybridSearch::search_annotated(const AnnotatedModel& model, const Pair& pair,
                                    std::int64_t micro_batch, StageOption option) {
  const Instance& instance = space_.instance;
  const SharedStage stage(instance, times_, {pair.base, pair.runs}, micro_batch, option,
                          in_flight(micro_batch));
  const int layers = instance.profile.num_layers();
  const auto runs = [&](const std::vector<int>& begins) {
    return split_runs(model, begins, layers);
  };
  const std::vector<int> fastest = best_begins(model, [&](const std::vector<int>& begins) {
    return seconds(stage.cost(all_layers(), runs(begins)), micro_batch);
  });
  if (offer(pair, micro_batch, stage.stage(all_layers(), runs(fastest)))) return;
  const auto tightest = [&](const std::vector<int>& begins) {
    Plan plan = plan_with(space_, micro_batch, 1);
    plan.stages[0] = stage.tightest_stage(all_layers(), runs(begins));
    return plan;
  };
  const std::vector<int> smallest = best_begins(model, [&](const std::vector<int>& begins) {
    return fullest_use(instance, tightest(begins));
  });
  if (offer(pair, micro_batch, stage.stage(all_layers(), runs(smallest)))) return;
  const Plan plan = tightest(smallest);
  const double use = fullest_use(instance, plan);
  if (!why_not_.empty() && use >= least_use_) return;
  least_use_ = use;
  why_not_ = fmt::format("with micro-batches of {} {}", micro_batch, why_not_fit(instance, plan));
}

}  // namespace pptrain
