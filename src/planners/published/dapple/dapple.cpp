#include "planners/published/dapple/dapple.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/infinity.hpp"
#include "cost/stage_time.hpp"
#include "planners/ask/layer_tables.hpp"
#include "planners/divide/layer_balance.hpp"
#include "planners/divide/least_overrun.hpp"
#include "planners/meshes/grid.hpp"
#include "planners/published/dapple/dapple_rules.hpp"
#include "planners/published/dapple/dapple_search.hpp"
#include "planners/published/published.hpp"

namespace pptrain {
namespace {

/// Estimates that differ by less are compared by `dapple_seconds` itself.
constexpr double estimate_tolerance = 1e-9;

Plan plan_of(const SearchSpace& space, const std::vector<DappleStage>& stages,
             std::int64_t micro_batch) {
  Plan plan;
  plan.global_batch_size = space.instance.global_batch_size;
  plan.micro_batch_size = micro_batch;
  plan.micro_batches = plan.global_batch_size / micro_batch;
  plan.schedule.name = space.schedule;
  DeviceUse use(space.instance.cluster);
  for (const DappleStage& found : stages) {
    Stage stage;
    stage.layers = {found.layers};
    stage.replicas = found.replicas;
    for (const DeviceId device :
         device_ids(space.instance.cluster, use.take(found.policy, found.replicas))) {
      stage.devices.push_back({device});
    }
    stage.samples = even_division(micro_batch, found.replicas);
    stage.recompute = space.restrictions.recompute.value_or(Recompute::none);
    stage.zero_stage = static_cast<int>(space.restrictions.zero_stage.value_or(0));
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

/// The searches of all micro-batch sizes and sets of placements, and the best plan so far.
class DappleRun {
 public:
  explicit DappleRun(const SearchSpace& space)
      : space_(space),
        num_layers_(space.instance.profile.num_layers()),
        num_devices_(space.instance.cluster.num_devices()),
        sizes_(micro_batch_sizes(space.instance.global_batch_size, space.restrictions)) {}

  Outcome run() {
    for (const std::int64_t micro_batch : sizes_) offer_single_stage(micro_batch);
    for (const PlacementGraph& graph : graphs()) search(graph);
    if (best_) outcome_.plan = finished_plan(space_, std::move(*best_), "dapple");
    return std::move(outcome_);
  }

 private:
  /// The most placements that are not too many.
  std::vector<PlacementGraph> graphs() const {
    const double work = std::min(dapple_work_per_device * num_devices_, most_dapple_work);
    const std::vector<PlacementRuleSets> choices = dapple_rules(space_);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const bool last = i + 1 == choices.size();
      const double most_links = last ? infinity : work / num_layers_;
      std::vector<PlacementGraph> graphs;
      for (const PlacementRules& rules : choices[i]) {
        auto graph = PlacementGraph::build(space_.instance.cluster, rules, most_links);
        if (graph) graphs.push_back(std::move(*graph));
      }
      if (graphs.size() == choices[i].size()) return graphs;
    }
    return {};
  }

  /// First with one label each, which soon leaves little to search, then with those that are
  /// needed.
  void search(const PlacementGraph& graph) {
    const bool exact =
        static_cast<double>(graph.num_links()) * num_layers_ <= most_exact_dapple_work;
    std::vector<std::pair<double, std::int64_t>> order;
    for (const std::int64_t micro_batch : sizes_)
      order.emplace_back(search(graph, micro_batch, 1), micro_batch);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [seconds, micro_batch] : order)
      search(graph, micro_batch, exact ? 0 : most_dapple_labels);
  }

  /// Returns the estimate of the best pipeline that was found.
  double search(const PlacementGraph& graph, std::int64_t micro_batch, int most_labels) {
    if (space_.stop.requested()) outcome_.complete = false;
    if (!outcome_.complete) return infinity;
    const int most_stages = std::min(num_layers_, num_devices_);
    DappleCosts costs(space_, graph, micro_batch, most_stages);
    DappleSearch search(space_, costs, most_stages);
    const std::vector<DapplePipeline> found =
        search.search({seconds_, static_cast<std::size_t>(most_labels)});
    for (const DapplePipeline& pipeline : found) {
      if (pipeline.seconds > seconds_ * (1.0 + estimate_tolerance)) break;
      offer(plan_of(space_, pipeline.stages, micro_batch));
    }
    outcome_.num_examined += search.num_examined();
    if (search.stopped()) outcome_.complete = false;
    return found.empty() ? infinity : found.front().seconds;
  }

  void offer_single_stage(std::int64_t micro_batch) {
    const Restrictions& fixed = space_.restrictions;
    if (num_devices_ > micro_batch || fixed.pipeline.value_or(1) != 1) return;
    if (fixed.data.value_or(num_devices_) != num_devices_) return;
    ++outcome_.num_examined;
    offer(plan_of(space_, {{num_devices_, PlacementPolicy::append_first, {0, num_layers_}}},
                  micro_batch));
  }

  /// The first, in the order of ties, of plans that take equally long: stages, micro-batch size,
  /// boundaries.
  static bool precedes(const Plan& a, const Plan& b) {
    if (a.num_stages() != b.num_stages()) return a.num_stages() < b.num_stages();
    if (a.micro_batch_size != b.micro_batch_size) return a.micro_batch_size < b.micro_batch_size;
    for (std::size_t i = 0; i < a.stages.size(); ++i) {
      if (a.stages[i].layers != b.stages[i].layers) return a.stages[i].layers < b.stages[i].layers;
    }
    return false;
  }

  void offer(Plan plan) {
    if (!why_not_fit(space_.instance, plan).empty()) return;
    const double seconds = dapple_seconds(space_.instance, plan);
    if (seconds > seconds_ * (1.0 + tie_tolerance)) return;
    if (best_ && seconds >= seconds_ * (1.0 - tie_tolerance) && !precedes(plan, *best_)) return;
    if (is_refused(space_, plan)) return;
    seconds_ = std::min(seconds, seconds_);
    best_ = std::move(plan);
  }

  const SearchSpace& space_;
  int num_layers_;
  int num_devices_;
  std::vector<std::int64_t> sizes_;
  std::optional<Plan> best_;
  double seconds_ = infinity;
  Outcome outcome_;
};

/// Replicas of stages that share the devices as evenly as possible; none where the restrictions
/// have no such ones.
std::vector<int> even_replicas(const SearchSpace& space, int num_stages) {
  const Restrictions& fixed = space.restrictions;
  const int devices = space.instance.cluster.num_devices();
  if (fixed.pipeline && *fixed.pipeline != num_stages) return {};
  if (fixed.data && *fixed.data * num_stages != devices) return {};
  std::vector<int> replicas;
  for (const Interval& share : even_division(devices, num_stages))
    replicas.push_back(static_cast<int>(share.size()));
  return replicas;
}

/// Layers divided by the memory that they need, and devices evenly, with the least micro-batch
/// size.
std::optional<Plan> roomy_plan(const SearchSpace& space, int num_stages) {
  const std::vector<int> replicas = even_replicas(space, num_stages);
  if (replicas.empty()) return std::nullopt;
  const std::vector<std::int64_t> sizes =
      micro_batch_sizes(space.instance.global_batch_size, space.restrictions);
  const auto size = std::lower_bound(sizes.begin(), sizes.end(), replicas.front());
  if (size == sizes.end()) return std::nullopt;
  const Profile& profile = space.instance.profile;
  const BytesPerParameter& bytes = profile.bytes_per_parameter;
  std::vector<double> weights;
  for (int l = 0; l < profile.num_layers(); ++l) {
    const double stored =
        stored_bytes_of(profile, l, space.restrictions.recompute.value_or(Recompute::none));
    weights.push_back((bytes.weight + bytes.gradient + bytes.optimizer) *
                          profile.layers[l].parameters +
                      static_cast<double>(*size / replicas.front()) * stored);
  }
  std::vector<DappleStage> stages;
  for (const Interval& layers : balanced_division(weights, num_stages)) {
    stages.push_back({replicas[stages.size()], PlacementPolicy::append_first, layers});
  }
  return plan_of(space, stages, *size);
}

/// What lacks least in plans with ever more stages.
std::string why_nothing_fits(const SearchSpace& space) {
  LeastOverrun overrun;
  const int most =
      std::min(space.instance.profile.num_layers(), space.instance.cluster.num_devices());
  for (int num_stages = 1; num_stages <= most && !space.stop.requested(); ++num_stages) {
    if (const auto plan = roomy_plan(space, num_stages)) overrun.take(space.instance, *plan);
  }
  if (!overrun.text().empty()) return overrun.text();
  return fmt::format("no micro-batch size that divides {} gives each replica of a stage a sample",
                     space.instance.global_batch_size);
}

}  // namespace

Outcome DapplePlanner::search(const SearchSpace& space) const {
  Outcome none;
  none.why_not = why_not_tabulated(space.instance);
  if (space.restrictions.tensor.value_or(1) != 1) {
    none.why_not = fmt::format("DAPPLE's stages have tensor-parallel degree 1, not {}",
                               *space.restrictions.tensor);
  }
  if (!none.why_not.empty()) return none;
  Outcome outcome = DappleRun(space).run();
  if (!outcome.plan) outcome.why_not = why_nothing_fits(space);
  return outcome;
}

std::unique_ptr<Planner> make_dapple_planner() { return std::make_unique<DapplePlanner>(); }

}  // namespace pptrain
