#include "planners/simulated/simulated_plan.hpp"

#include <algorithm>
#include <numeric>

#include "cost/transfer_forms.hpp"
#include "simulate/simulate.hpp"

namespace pptrain {
namespace {

/// Tasks simulated in the time that the search for an order takes: zero-bubble orders that memory or few micro-batches
/// keep from having no bubble are improved step by step, others are made at once or nearly so (docs/schedules.md).
double order_cost(const Plan& plan) {
  const std::string& name = plan.schedule.name;
  const double tasks = 3.0 * plan.num_stages() * plan.schedule.virtual_stages * static_cast<double>(plan.micro_batches);
  const bool filled = name == "zb-h2" && plan.micro_batches >= 2 * plan.num_stages();
  if (name.starts_with("zb-") && !filled) return std::min(250.0 * tasks, 4e5);
  if (name == "zeropp") return std::min(30.0 * tasks, 3e4);
  return tasks;
}

/// Nodes whose transfers share uplinks, directly or through others, with the pairs of devices that transfer there.
class SharedNodes {
 public:
  explicit SharedNodes(const Cluster& cluster) : cluster_(cluster), above_(cluster.num_nodes()) {
    std::iota(above_.begin(), above_.end(), 0);
    pairs_.resize(above_.size(), 0.0);
  }

  void add(DeviceId a, DeviceId b) {
    const int first = root(cluster_.node_of(a));
    const int second = root(cluster_.node_of(b));
    if (cluster_.node_of(a) == cluster_.node_of(b)) return;
    above_[second] = first;
    if (first != second) pairs_[first] += pairs_[second];
    pairs_[first] += 2.0;  // there and back
  }

  /// Of one micro-batch.
  double tasks() {
    constexpr double per_met_pair = 0.01;  // measured: of the time of a task
    double sum = 0.0;
    for (int node = 0; node < static_cast<int>(above_.size()); ++node) {
      if (root(node) == node) sum += per_met_pair * pairs_[node] * pairs_[node];
    }
    return sum;
  }

 private:
  int root(int node) {
    while (above_[node] != node) node = above_[node] = above_[above_[node]];
    return node;
  }

  const Cluster& cluster_;
  std::vector<int> above_;     // towards the node that stands for all that share
  std::vector<double> pairs_;  // of those
};

double sharing_tasks(const Cluster& cluster, const Plan& plan) {
  SharedNodes nodes(cluster);
  const std::vector<ChunkPlace> chunks = chunk_places(plan);
  for (std::size_t c = 0; c + 1 < chunks.size(); ++c) {
    const Stage& from = plan.stages[chunks[c].stage.index()];
    const Stage& to = plan.stages[chunks[c + 1].stage.index()];
    if (chunks[c].stage == chunks[c + 1].stage) continue;
    for (const Overlap& overlap : intersect(from.samples, to.samples)) {
      for (int k = 0; k < to.tensor_parallel; ++k) {
        nodes.add(from.devices[overlap.from][k % from.tensor_parallel], to.devices[overlap.to][k]);
      }
    }
  }
  return static_cast<double>(plan.micro_batches) * nodes.tasks();
}

}  // namespace

double simulated_tasks(const Cluster& cluster, const Plan& plan) {
  double tasks = sharing_tasks(cluster, plan);
  for (const Stage& stage : plan.stages) {
    const auto devices = static_cast<double>(stage.replicas) * stage.tensor_parallel;
    tasks += 2.0 * devices * static_cast<double>(stage.layers.size()) * static_cast<double>(plan.micro_batches);
  }
  return tasks;
}

PlanSimulator::OrderKey PlanSimulator::key_of(const Plan& plan) {
  return {plan.schedule.name, plan.schedule.virtual_stages, plan.schedule.unit, plan.num_stages(), plan.micro_batches};
}

const std::vector<TaskOrder>& PlanSimulator::orders_of(const Plan& plan) {
  const auto found = orders_.find(key_of(plan));
  if (found != orders_.end()) return found->second;
  return orders_.emplace(key_of(plan), task_orders(plan)).first->second;
}

const SimulatedPlan* PlanSimulator::known(const Plan& plan) const {
  const auto found =
      std::find_if(plans_.begin(), plans_.end(), [&](const Plan& other) { return same_plan(plan, other); });
  return found == plans_.end() ? nullptr : &results_[static_cast<std::size_t>(found - plans_.begin())];
}

double PlanSimulator::cost(const Plan& plan) const {
  if (known(plan)) return 0.0;
  constexpr double setup = 20.0;  // tasks simulated in the time that prices of a chunk on a device take
  const double devices = static_cast<double>(plan.num_devices()) * plan.schedule.virtual_stages;
  return simulated_tasks(instance_.cluster, plan) + setup * devices +
         (orders_.contains(key_of(plan)) ? 0.0 : order_cost(plan));
}

bool PlanSimulator::can(const Plan& plan) const {
  return simulated_tasks(instance_.cluster, plan) <= most_simulated_tasks;
}

const SimulatedPlan& PlanSimulator::of(const Plan& plan) {
  if (const SimulatedPlan* result = known(plan)) return *result;
  const TiedEmbedding& tied = instance_.tied;
  const Programs programs =
      compile_training(plan, orders_of(plan), {tied.rows > 0, tied.rows, cheapest_forms(instance_, plan)});
  const Simulation simulation = simulate(instance_, plan, programs, {Recording::sums, tied.row_bytes});
  SimulatedPlan& result = results_.emplace_back();
  plans_.push_back(plan);
  result.iteration_seconds = std::max(simulation.makespan_seconds, core_limit_seconds(instance_, plan));
  result.bubble_fraction = simulation.bubble_fraction();
  result.peak_bytes.resize(static_cast<std::size_t>(instance_.cluster.num_devices()), 0.0);
  for (const SimulatedDevice& device : simulation.devices) {
    result.peak_bytes[device.device.index()] = device.peak_bytes;
  }
  result.why_not = largest_overrun(instance_.cluster, result.peak_bytes);
  return result;
}

void predict_by_simulation(PlanSimulator& simulator, Plan& plan) {
  Prediction& predicted = *plan.predicted;
  if (predicted.basis == PredictionBasis::simulation) return;
  if (!simulator.can(plan)) {
    predict_by_larger_form(plan);
    return;
  }
  const SimulatedPlan& result = simulator.of(plan);
  predicted.basis = PredictionBasis::simulation;
  predicted.iteration_seconds = result.iteration_seconds;
  predicted.bubble_fraction = result.bubble_fraction;
  predicted.peak_bytes = result.peak_bytes;
}

void predict_by_larger_form(Plan& plan) {
  Prediction& predicted = *plan.predicted;
  if (predicted.basis == PredictionBasis::simulation) return;
  predicted.iteration_seconds = std::max(predicted.iteration_seconds, predicted.estimates.at("dapple"));
}

}  // namespace pptrain
