#include "planners/pipeline_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "planners/grid.hpp"

namespace pptrain {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Stages with their in-flight counts, which depend on the numbers of stages and micro-batches alone.
Plan empty_plan(const SearchSpace& space, int stages, std::int64_t micro_batch) {
  Plan plan;
  plan.global_batch_size = space.instance.global_batch_size;
  plan.micro_batch_size = micro_batch;
  plan.micro_batches = plan.global_batch_size / micro_batch;
  plan.schedule.name = space.schedule;
  plan.stages.resize(static_cast<std::size_t>(stages));
  return plan;
}

}  // namespace

PipelineSearch::PipelineSearch(const SearchSpace& space)
    : space_(space),
      sums_(space.instance),
      times_(sums_),
      options_(stage_options(space.restrictions)),
      shares_(space.restrictions.scope == PlanScope::uniform ? Shares::even : Shares::balanced),
      seconds_(infinity) {}

void PipelineSearch::add(const TaskGraphs& graphs) {
  const Cluster& cluster = space_.instance.cluster;
  int order = 0;
  for (VirtualDevices& devices : virtual_devices(cluster, graphs.devices(), graphs.pipelines)) {
    PipelineLayout layout = {graphs, order++, {}};
    for (std::size_t i = 0; i < devices.size(); ++i) {
      layout.meshes.emplace_back(cluster, graphs.graphs[i].tensor_parallel, std::move(devices[i]));
    }
    layouts_.push_back(std::move(layout));
    if (shares_ == Shares::even) break;  // uniform grids have their devices in file order
  }
}

/// Those that hold a sample for each replica of each stage.
std::vector<std::int64_t> PipelineSearch::micro_batches(const PipelineLayout& layout) const {
  std::vector<std::int64_t> sizes = divisors(space_.instance.global_batch_size);
  if (space_.restrictions.micro_batch_size) sizes = {*space_.restrictions.micro_batch_size};
  const int replicas = layout.graphs.most_replicas();
  std::erase_if(
      sizes, [&](std::int64_t size) { return size < replicas || (shares_ == Shares::even && size % replicas != 0); });
  return sizes;
}

void PipelineSearch::make_costs(const PipelineCandidate& candidate, Costs& costs) {
  const PipelineLayout& layout = *candidate.layout;
  const Plan plan = empty_plan(space_, static_cast<int>(layout.meshes.size()), candidate.micro_batch);
  std::vector<ChainStage> stages;
  for (int i = 0; i < plan.num_stages(); ++i) {
    costs.meshes.emplace_back(space_.instance, times_, layout.meshes[i], candidate.micro_batch, options_, shares_);
    const TaskGraph& graph = layout.graphs.graphs[i];
    stages.push_back({&costs.meshes.back(), static_cast<double>(micro_batches_in_flight(plan, StageId(i))),
                      graph.first_end, graph.last_end});
  }
  costs.problem.emplace(space_.instance, std::move(stages), static_cast<double>(plan.micro_batches));
}

void PipelineSearch::run() {
  std::vector<Bounded> candidates;
  for (const PipelineLayout& layout : layouts_) {
    for (const std::int64_t micro_batch : micro_batches(layout)) {
      if (space_.stop.requested()) break;
      Costs costs;
      const PipelineCandidate candidate = {&layout, micro_batch};
      make_costs(candidate, costs);
      candidates.push_back({candidate, costs.problem->lower_bound()});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Bounded& a, const Bounded& b) { return a.bound < b.bound; });
  for (const Bounded& bounded : candidates) {
    if (bounded.bound > seconds_ * (1.0 + tie_tolerance)) break;
    if (space_.stop.requested()) break;
    examine(bounded);
  }
  complete_ = !space_.stop.requested();
}

void PipelineSearch::examine(const Bounded& bounded) {
  ++num_examined_;
  Costs costs;
  make_costs(bounded.candidate, costs);
  const double limit = seconds_ * (1.0 + 2.0 * tie_tolerance);
  const std::optional<ChainDivision> division = divide_chain(*costs.problem, limit, space_.stop);
  if (!division) return;
  offer(bounded.candidate, plan_of(bounded.candidate, costs, *division, false));
  if (shares_ == Shares::balanced) offer(bounded.candidate, plan_of(bounded.candidate, costs, *division, true));
}

/// COST.md's order of ties: stages, replicas, degree, micro-batch; then the order of the devices.
bool PipelineSearch::comes_first(const PipelineCandidate& candidate) const {
  const auto key = [](const PipelineCandidate& c) {
    const TaskGraphs& graphs = c.layout->graphs;
    return std::tuple(graphs.graphs.size(), graphs.replicas(0), graphs.graphs[0].tensor_parallel, c.micro_batch,
                      c.layout->order);
  };
  return key(candidate) < key(best_);
}

void PipelineSearch::offer(const PipelineCandidate& candidate, Plan plan) {
  if (!why_not_fit(space_.instance, plan).empty()) return;
  const double seconds = amp_terms(space_.instance, plan).iteration_seconds;
  const bool ties = plan_ && seconds <= seconds_ * (1.0 + tie_tolerance) && comes_first(candidate);
  if (seconds >= seconds_ * (1.0 - tie_tolerance) && !ties) return;
  plan_ = std::move(plan);
  seconds_ = seconds;
  best_ = candidate;
}

/// `refined`: with the samples balanced for the layers that each stage has.
Plan PipelineSearch::plan_of(const PipelineCandidate& candidate, const Costs& costs, const ChainDivision& division,
                             bool refined) const {
  const PipelineLayout& layout = *candidate.layout;
  Plan plan = empty_plan(space_, static_cast<int>(layout.meshes.size()), candidate.micro_batch);
  for (int i = 0; i < plan.num_stages(); ++i) {
    const BalancedMesh& mesh = costs.meshes[i];
    const StageCost& cost = division.costs[i];
    const Interval layers = division.layers[i];
    std::vector<Interval> samples = mesh.by_speed().samples();
    if (refined || !cost.by_speed) {
      const auto balanced = mesh.samples(cost.option, static_cast<int>(layers.begin), static_cast<int>(layers.end),
                                         costs.problem->stage(i).in_flight);
      if (balanced) samples = *balanced;
    }
    plan.stages[i] = mesh.mesh().stage(samples);
    plan.stages[i].layers = {layers};
    plan.stages[i].recompute = options_[cost.option].recompute;
    plan.stages[i].zero_stage = options_[cost.option].zero_stage;
  }
  return plan;
}

Plan PipelineSearch::tightest_plan(const PipelineCandidate& candidate, const Costs& costs) const {
  Plan plan = empty_plan(space_, static_cast<int>(costs.meshes.size()), candidate.micro_batch);
  const std::vector<Interval> layers = roomiest_chain(*costs.problem);
  for (int i = 0; i < plan.num_stages(); ++i) {
    const BalancedMesh::Tightest tightest = costs.meshes[i].tightest(
        static_cast<int>(layers[i].begin), static_cast<int>(layers[i].end), costs.problem->stage(i).in_flight);
    plan.stages[i] = costs.meshes[i].mesh().stage(samples_of(costs.meshes[i].mesh(), tightest.shares));
    plan.stages[i].layers = {layers[i]};
    plan.stages[i].recompute = options_[tightest.option].recompute;
    plan.stages[i].zero_stage = options_[tightest.option].zero_stage;
  }
  return plan;
}

std::string PipelineSearch::why_not() {
  if (layouts_.empty()) return "no allowed number of stages and degree divides the devices";
  std::string nearest;
  double least = infinity;
  for (const PipelineLayout& layout : layouts_) {
    const std::vector<std::int64_t> sizes = micro_batches(layout);
    if (sizes.empty() || (space_.stop.requested() && !nearest.empty())) continue;
    const PipelineCandidate candidate = {&layout, sizes.front()};  // the least activations
    Costs costs;
    make_costs(candidate, costs);
    const Plan plan = tightest_plan(candidate, costs);
    const std::vector<double> need = memory_bytes(space_.instance, plan);
    double use = 0.0;
    for (std::size_t d = 0; d < need.size(); ++d) {
      use = std::max(use, need[d] / space_.instance.cluster.kind_of(DeviceId(static_cast<int>(d))).memory);
    }
    if (use >= least) continue;
    least = use;
    nearest =
        fmt::format("{}: with micro-batches of {} {}", plan.shape(), sizes.front(), why_not_fit(space_.instance, plan));
  }
  if (!nearest.empty()) return nearest;
  return fmt::format("no micro-batch of the {} samples holds one for each replica", space_.instance.global_batch_size);
}

}  // namespace pptrain
