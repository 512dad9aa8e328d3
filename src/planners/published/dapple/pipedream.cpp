#include "planners/published/dapple/pipedream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/infinity.hpp"
#include "cost/layer_sums.hpp"
#include "planners/ask/layer_tables.hpp"
#include "planners/divide/least_overrun.hpp"
#include "planners/meshes/grid.hpp"
#include "planners/published/dapple/slowest_stage.hpp"
#include "planners/published/published.hpp"

namespace pptrain {
namespace {

/// A stage of a larger cluster gets a power of two of nodes, or all that are left of a group.
constexpr int most_nodes_each = 64;

/// PipeDream's programme for one micro-batch size.
class Hierarchy {
 public:
  Hierarchy(const SearchSpace& space, LayerSums& sums, std::int64_t micro_batch)
      : space_(space), cluster_(space.instance.cluster), sums_(sums), micro_batch_(micro_batch) {
    std::vector<DeviceId> one_of_each;
    for (int node = 0; node < cluster_.num_nodes(); ++node)
      one_of_each.push_back(cluster_.devices_of_node(node)[0]);
    between_ = cluster_.slowest_link(one_of_each);
    int node = 0;
    for (int g = 0; g < static_cast<int>(cluster_.groups.size()); ++g) {
      times_.push_back(&times_on(g));
      first_node_.push_back(node);
      node += cluster_.groups[g].count;
      solve_inside(g);
    }
  }

  /// The stages of the best pipeline, with their devices; none where there is none, or where the
  /// stop comes first.
  std::vector<Stage> stages() {
    SlowestStage nodes(
        num_layers(), cluster_.num_nodes(), node_counts(),
        [this](const UnitStage& stage) { return on_nodes(stage); },
        [this](int end) { return cut_seconds(between_, end); });
    std::vector<Stage> result;
    if (!nodes.solve(0, space_.stop)) return result;
    if (nodes.seconds(num_layers()) == infinity) return result;
    for (const UnitStage& outer : nodes.stages(num_layers())) append(outer, result);
    return result;
  }

 private:
  int num_layers() const { return sums_.num_layers(); }

  /// A whole micro-batch on one device.
  const PassSums& times_on(int group) {
    const Recompute recompute = space_.restrictions.recompute.value_or(Recompute::none);
    const ReplicaGroup replica = {
        {cluster_.kind_index_of_group(group)}, {}, static_cast<double>(micro_batch_)};
    return sums_.times(replica, 1, recompute);
  }

  double all_reduce(const Link& link, int n, const Interval& layers) const {
    const double parameters =
        sums_.parameters(static_cast<int>(layers.begin), static_cast<int>(layers.end));
    return all_reduce_seconds(link, n,
                              space_.instance.profile.bytes_per_parameter.sent() * parameters);
  }

  double cut_seconds(const Link& link, int end) const {
    const double bytes =
        space_.instance.profile.layers[end - 1].output_bytes * static_cast<double>(micro_batch_);
    return 2.0 * (bytes / link.bandwidth + link.latency);
  }

  Link link_inside(int group) const {
    return cluster_.slowest_link(cluster_.devices_of_node(first_node_[group]));
  }

  /// Devices of one node, any layers: the first level.
  SlowestStage inside(int group) {
    const Link link = link_inside(group);
    const int devices = cluster_.groups[group].num_devices;
    std::vector<int> counts(devices);
    std::iota(counts.begin(), counts.end(), 1);
    return {num_layers(), devices, std::move(counts),
            [this, group, link](const UnitStage& stage) {
              if (stage.num_units > micro_batch_) return infinity;
              const auto [begin, end] = stage.layers;
              const double compute =
                  times_[group]->of(static_cast<int>(begin), static_cast<int>(end)).total;
              return std::max(compute / stage.num_units,
                              all_reduce(link, stage.num_units, stage.layers));
            },
            [this, link](int end) { return cut_seconds(link, end); }};
  }

  void solve_inside(int group) {
    SlowestStage level = inside(group);
    inside_.emplace_back();
    for (int begin = 0; begin < num_layers(); ++begin) {
      level.solve(begin, space_.stop);
      inside_.back().emplace_back(num_layers() + 1, infinity);
      for (int end = begin + 1; end <= num_layers(); ++end)
        inside_.back().back()[end] = level.seconds(end);
    }
  }

  int group_of(int node) const {
    return static_cast<int>(std::upper_bound(first_node_.begin(), first_node_.end(), node) -
                            first_node_.begin()) -
           1;
  }

  /// Pipelines of the first level side by side on some nodes: a stage of the second level.
  double on_nodes(const UnitStage& stage) const {
    const int group = group_of(stage.first_unit);
    if (group_of(stage.first_unit + stage.num_units - 1) != group || stage.num_units > micro_batch_)
      return infinity;
    const double slowest = inside_[group][stage.layers.begin][stage.layers.end];
    return std::max(slowest / stage.num_units, all_reduce(between_, stage.num_units, stage.layers));
  }

  std::vector<int> node_counts() const {
    std::vector<int> counts;
    for (int count = 1; count <= cluster_.num_nodes(); ++count) {
      const bool whole_group =
          std::any_of(cluster_.groups.begin(), cluster_.groups.end(),
                      [count](const NodeGroup& group) { return group.count == count; });
      if (cluster_.num_nodes() <= most_nodes_each || (count & (count - 1)) == 0 || whole_group)
        counts.push_back(count);
    }
    return counts;
  }

  /// The stages of one pipeline of the first level, each on all the nodes.
  void append(const UnitStage& outer, std::vector<Stage>& stages) {
    SlowestStage level = inside(group_of(outer.first_unit));
    level.solve(static_cast<int>(outer.layers.begin));
    for (const UnitStage& inner : level.stages(static_cast<int>(outer.layers.end))) {
      Stage stage;
      stage.layers = {inner.layers};
      for (int node = outer.first_unit; node < outer.first_unit + outer.num_units; ++node) {
        const std::vector<DeviceId> devices = cluster_.devices_of_node(node);
        for (int k = 0; k < inner.num_units; ++k)
          stage.devices.push_back({devices[inner.first_unit + k]});
      }
      stage.replicas = static_cast<int>(stage.devices.size());
      stage.recompute = space_.restrictions.recompute.value_or(Recompute::none);
      stage.zero_stage = static_cast<int>(space_.restrictions.zero_stage.value_or(0));
      stages.push_back(std::move(stage));
    }
  }

  const SearchSpace& space_;
  const Cluster& cluster_;
  LayerSums& sums_;
  std::int64_t micro_batch_;
  Link between_;                        // slowest between any two nodes
  std::vector<const PassSums*> times_;  // of a micro-batch on a device of each group
  std::vector<int> first_node_;         // of each group
  std::vector<std::vector<std::vector<double>>> inside_;  // [group][begin][end]: the slowest stage
                                                          // inside a node
};

/// The plan for one micro-batch size; nothing where some replica gets no sample.
std::optional<Plan> plan_for(const SearchSpace& space, LayerSums& sums, std::int64_t micro_batch) {
  Plan plan;
  plan.global_batch_size = space.instance.global_batch_size;
  plan.micro_batch_size = micro_batch;
  plan.micro_batches = plan.global_batch_size / micro_batch;
  plan.schedule.name = space.schedule;
  plan.stages = Hierarchy(space, sums, micro_batch).stages();
  if (plan.stages.empty()) return std::nullopt;
  for (Stage& stage : plan.stages) {
    if (stage.replicas > micro_batch) return std::nullopt;
    stage.samples = even_division(micro_batch, stage.replicas);
  }
  return plan;
}

/// What the restrictions ask for that the plan has not; empty when it has all.
std::string missing_in(const Plan& plan, const Restrictions& fixed) {
  const bool replicas =
      !fixed.data || std::all_of(plan.stages.begin(), plan.stages.end(),
                                 [&](const Stage& stage) { return stage.replicas == *fixed.data; });
  if (!replicas) return fmt::format("data = {}", *fixed.data);
  if (fixed.pipeline && *fixed.pipeline != plan.num_stages())
    return fmt::format("pipeline = {}", *fixed.pipeline);
  if (fixed.tensor && *fixed.tensor != 1) return fmt::format("tensor = {}", *fixed.tensor);
  return "";
}

}  // namespace

Outcome PipeDreamPlanner::search(const SearchSpace& space) const {
  Outcome outcome;
  outcome.why_not = why_not_tabulated(space.instance);
  if (!outcome.why_not.empty()) return outcome;
  LayerSums sums(space.instance);
  LeastOverrun overrun;
  std::string missing;
  std::optional<Plan> best;
  double least = infinity;
  for (const std::int64_t micro_batch :
       micro_batch_sizes(space.instance.global_batch_size, space.restrictions)) {
    if (space.stop.requested()) outcome.complete = false;
    if (!outcome.complete) break;
    std::optional<Plan> plan = plan_for(space, sums, micro_batch);
    if (space.stop.requested()) outcome.complete = false;
    ++outcome.num_examined;
    if (!plan) continue;
    const std::string lacks = missing_in(*plan, space.restrictions);
    if (!lacks.empty()) {
      missing = lacks;
    } else if (!why_not_fit(space.instance, *plan).empty()) {
      overrun.take(space.instance, *plan);
    } else if (const double seconds = iteration_seconds(space.instance, *plan);
               seconds < least * (1.0 - tie_tolerance) && !is_refused(space, *plan)) {
      least = seconds;
      best = std::move(plan);
    }
  }
  if (best) {
    outcome.plan = finished_plan(space, std::move(*best), name());
  } else if (!outcome.complete) {
    outcome.why_not = "stopped before a plan was found";
  } else if (!overrun.text().empty()) {
    outcome.why_not = overrun.text();
  } else if (!missing.empty()) {
    outcome.why_not = "PipeDream chooses the stages itself, and none of its plans has " + missing;
  } else {
    outcome.why_not = "no micro-batch size gives each replica of its stages a sample";
  }
  return outcome;
}

std::unique_ptr<Planner> make_pipedream_planner() { return std::make_unique<PipeDreamPlanner>(); }

}  // namespace pptrain
