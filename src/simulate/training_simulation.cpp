#include "simulate/training_simulation.hpp"

#include <algorithm>

#include "simulate/order_options.hpp"
#include "simulate/simulator.hpp"

namespace pptrain {
namespace {

/// F and B of one micro-batch on every stage.
std::vector<TaskOrder> one_micro_batch(const Plan& plan) {
  std::vector<TaskOrder> orders(plan.stages.size());
  const std::vector<ChunkPlace> places = chunk_places(plan);
  const int num_chunks = static_cast<int>(places.size());
  for (int c = 0; c < num_chunks; ++c) {
    orders[places[c].stage.index()].push_back({TaskKind::forward, ChunkId(c), MicroBatchId(0)});
  }
  for (int c = num_chunks - 1; c >= 0; --c) {
    orders[places[c].stage.index()].push_back({TaskKind::backward, ChunkId(c), MicroBatchId(0)});
  }
  return orders;
}

/// What is said of the first program of each class said of all.
Simulation for_all(const Programs& programs, const Partition& classes, Simulation of_classes) {
  std::vector<SimulatedDevice> devices;
  devices.reserve(programs.size());
  for (std::size_t p = 0; p < programs.size(); ++p) {
    devices.push_back(of_classes.devices[classes.of[p]]);
    devices.back().device = programs[p].device;
  }
  of_classes.devices = std::move(devices);
  return of_classes;
}

}  // namespace

TrainingSimulation::TrainingSimulation(const Instance& instance, Plan plan, CompileOptions options)
    : instance_(instance),
      plan_(std::move(plan)),
      options_(std::move(options)),
      sample_(compile_training(plan_, one_micro_batch(plan_), options_)),
      prices_(instance, plan_, sample_),
      gathers_(instance, plan_, sample_),
      classes_(instance.cluster, sample_, prices_, gathers_) {}

int TrainingSimulation::tasks_per_micro_batch() const {
  int tasks = 0;
  for (const int p : classes_.programs().first) {
    tasks += 2 * static_cast<int>(plan_.stages[sample_[p].stage.index()].layers.size());
  }
  return tasks;
}

OrderOptions TrainingSimulation::order_options() const {
  return pptrain::order_options(instance_, plan_, sample_, prices_, options_.forms);
}

Simulation TrainingSimulation::run(const std::vector<TaskOrder>& orders) const {
  const Programs programs = compile_training(plan_, orders, options_, classes_.programs().first);
  check_split(instance_, plan_, programs);
  EventQueue events;
  Network network(events);
  const std::vector<int> routes = classes_.add_routes(network);
  Prices prices = prices_.of_classes(classes_.all());
  Transfers transfers(programs, prices,
                      [&](DeviceId from, DeviceId to) { return routes[classes_.way_class(from, to)]; });
  Simulator simulator(programs, std::move(prices), std::move(transfers), gathers_.of_classes(classes_.all()), network,
                      events, {Recording::sums});
  return for_all(sample_, classes_.programs(), simulator.run());
}

}  // namespace pptrain
