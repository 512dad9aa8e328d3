#include "planners/published/whale/pipeline_search.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/infinity.hpp"
#include "plan/patterns.hpp"
#include "planners/published/whale/shared_stage.hpp"
#include "planners/published/whale/uneven_shards.hpp"

namespace pptrain {

PipelineSearch::PipelineSearch(const SearchSpace& space, SampleTimes& times)
    : space_(space), times_(times), options_(stage_options(space)) {}

void PipelineSearch::add(const TaskGraphs& graphs) {
  const Instance& instance = space_.instance;
  const auto num_graphs = static_cast<double>(graphs.graphs.size());
  const double state = whole_state_bytes(instance.profile) / num_graphs;
  int order = 0;
  for (const VirtualDevices& devices :
       virtual_devices(instance.cluster, graphs.devices(), graphs.pipelines)) {
    std::vector<Shards> shards(devices.size());
    add(graphs, order++, devices, shards);
    bool any = false;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      shards[i] = uneven_shards(instance, graphs.graphs[i].tensor_parallel, devices[i], state,
                                space_.restrictions.has_whole_experts());
      any = any || !shards[i].empty();
    }
    if (any) add(graphs, order++, devices, shards);
  }
}

void PipelineSearch::add(const TaskGraphs& graphs, int order, const VirtualDevices& devices,
                         const std::vector<Shards>& shards) {
  PipelineLayout layout = {graphs, order, {}};
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const TaskGraph& graph = graphs.graphs[i];
    const Sharding sharding = space_.restrictions.blocks ? graph.sharding : Sharding::profiled;
    layout.meshes.emplace_back(space_.instance.cluster, graph.tensor_parallel, devices[i], sharding,
                               shards[i]);
  }
  layouts_.push_back(std::move(layout));
}

std::vector<std::int64_t> PipelineSearch::micro_batches(const PipelineLayout& layout) const {
  return micro_batches_for(space_, layout.graphs.most_replicas());
}

void PipelineSearch::make_costs(const PipelineCandidate& candidate, Costs& costs) {
  const PipelineLayout& layout = *candidate.layout;
  const Plan plan =
      plan_with(space_, candidate.micro_batch, static_cast<int>(layout.meshes.size()));
  std::vector<ChainStage> stages;
  for (int i = 0; i < plan.num_stages(); ++i) {
    costs.meshes.emplace_back(space_.instance, times_, layout.meshes[i], candidate.micro_batch,
                              options_, Shares::balanced);
    const TaskGraph& graph = layout.graphs.graphs[i];
    stages.push_back({&costs.meshes.back(),
                      static_cast<double>(micro_batches_in_flight(plan, StageId(i))),
                      graph.first_end, graph.last_end});
  }
  costs.problem.emplace(space_.instance, std::move(stages),
                        static_cast<double>(plan.micro_batches));
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
    if (bounded.bound > best_.seconds() * (1.0 + tie_tolerance)) break;
    if (space_.stop.requested()) break;
    examine(bounded);
  }
  complete_ = !space_.stop.requested();
}

void PipelineSearch::examine(const Bounded& bounded) {
  ++num_examined_;
  Costs costs;
  make_costs(bounded.candidate, costs);
  const double limit = best_.seconds() * (1.0 + 2.0 * tie_tolerance);
  const std::optional<ChainDivision> division = divide_chain(*costs.problem, limit, space_.stop);
  if (!division) return;
  const BestPlan::Key key = key_of(bounded.candidate);
  best_.offer(space_, plan_of(bounded.candidate, costs, *division, false), key);
  best_.offer(space_, plan_of(bounded.candidate, costs, *division, true), key);
}

BestPlan::Key PipelineSearch::key_of(const PipelineCandidate& candidate) const {
  const TaskGraphs& graphs = candidate.layout->graphs;
  return {static_cast<std::int64_t>(graphs.graphs.size()), graphs.replicas(0),
          graphs.graphs[0].tensor_parallel, candidate.micro_batch, candidate.layout->order};
}

/// `refined`: with the samples balanced for the layers that each stage has.
Plan PipelineSearch::plan_of(const PipelineCandidate& candidate, const Costs& costs,
                             const ChainDivision& division, bool refined) const {
  const PipelineLayout& layout = *candidate.layout;
  Plan plan = plan_with(space_, candidate.micro_batch, static_cast<int>(layout.meshes.size()));
  for (int i = 0; i < plan.num_stages(); ++i) {
    const BalancedMesh& mesh = costs.meshes[i];
    const StageCost& cost = division.costs[i];
    const Interval layers = division.layers[i];
    std::vector<Interval> samples = mesh.by_speed().samples();
    if (refined || !cost.by_speed) {
      const auto balanced =
          mesh.samples(cost.option, static_cast<int>(layers.begin), static_cast<int>(layers.end),
                       costs.problem->stage(i).in_flight);
      if (balanced) samples = *balanced;
    }
    plan.stages[i] = mesh.mesh().stage(samples);
    plan.stages[i].layers = {layers};
    options_[cost.option].apply_to(plan.stages[i]);
    if (mesh.mesh().sharding() == Sharding::patterns)
      plan.stages[i].blocks = pattern_blocks(mesh.mesh(), plan.stages[i]);
  }
  return plan;
}

/// Only of layers that the degree of the stage does not divide already.
std::vector<Block> PipelineSearch::pattern_blocks(const StageMesh& mesh, const Stage& stage) const {
  std::vector<Block> blocks = blocks_of(space_.instance, mesh, stage.samples, stage.layers.front());
  std::erase_if(blocks, [](const Block& block) {
    return block.pattern == TensorPattern::megatron || block.tensor_parallel == 1;
  });
  return blocks;
}

Plan PipelineSearch::tightest_plan(const PipelineCandidate& candidate, const Costs& costs) const {
  Plan plan = plan_with(space_, candidate.micro_batch, static_cast<int>(costs.meshes.size()));
  const std::vector<Interval> layers = roomiest_chain(*costs.problem);
  for (int i = 0; i < plan.num_stages(); ++i) {
    const BalancedMesh::Tightest tightest =
        costs.meshes[i].tightest(static_cast<int>(layers[i].begin), static_cast<int>(layers[i].end),
                                 costs.problem->stage(i).in_flight);
    plan.stages[i] =
        costs.meshes[i].mesh().stage(samples_of(costs.meshes[i].mesh(), tightest.shares));
    plan.stages[i].layers = {layers[i]};
    options_[tightest.option].apply_to(plan.stages[i]);
  }
  return plan;
}

std::string PipelineSearch::why_not() {
  if (layouts_.empty()) return "no allowed number of stages and degree divides the devices";
  std::string nearest;
  double least = infinity;
  for (const PipelineLayout& layout : layouts_) {
    const std::vector<std::int64_t> sizes = micro_batches(layout);
    if (space_.stop.requested()) break;
    if (sizes.empty()) continue;
    const PipelineCandidate candidate = {&layout, sizes.front()};  // the least activations
    Costs costs;
    make_costs(candidate, costs);
    const Plan plan = tightest_plan(candidate, costs);
    const double use = fullest_use(space_.instance, plan);
    if (use >= least) continue;
    least = use;
    nearest = fmt::format("{}: with micro-batches of {} {}", plan.shape(), sizes.front(),
                          why_not_fit(space_.instance, plan));
  }
  if (!nearest.empty()) return nearest;
  if (space_.stop.requested()) return "stopped before a plan was found";
  return fmt::format("no micro-batch of the {} samples holds one for each replica",
                     space_.instance.global_batch_size);
}

}  // namespace pptrain
