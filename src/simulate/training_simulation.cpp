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

/// The representatives' programs of one micro-batch.
Programs sample_of(const Plan& plan, TrainingCompiler& compiler, const ReplicaShift& shift) {
  const std::vector<int> representatives = shift.representatives();
  return compiler.compile(one_micro_batch(plan), &representatives);
}

/// Periods that are simulated at first: until every stage is under way and another time as long.
int first_kept(const RepeatedTasks& repeated) {
  const int stages = static_cast<int>(repeated.stages.size());
  return 4 + (stages + repeated.micro_batches - 1) / repeated.micro_batches;
}

void add_repetitions(Simulation& simulation, const Repetition& repetition, int times) {
  const double later = times * repetition.seconds;
  simulation.makespan_seconds += later;
  for (std::size_t p = 0; p < simulation.devices.size(); ++p) {
    SimulatedDevice& device = simulation.devices[p];
    device.busy_seconds += times * repetition.devices[p].busy_seconds;
    device.communication_seconds += times * repetition.devices[p].communication_seconds;
    device.last_end_seconds += later;
    device.idle_seconds = std::max(
        0.0, simulation.makespan_seconds - device.busy_seconds - device.communication_seconds);
  }
}

}  // namespace

TrainingSimulation::TrainingSimulation(const Instance& instance, Plan plan, CompileOptions options)
    : instance_(instance),
      plan_(std::move(plan)),
      options_(std::move(options)),
      compiler_(plan_, options_),
      shift_(instance.cluster, plan_, options_.ties),
      sample_(sample_of(plan_, compiler_, shift_)),
      prices_(instance, plan_, sample_, shift_),
      gathers_(instance, plan_, sample_),
      classes_(instance.cluster, sample_, prices_, gathers_, shift_) {}

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
  if (const std::optional<Simulation> repeated = run_repeated(orders)) return *repeated;
  return run_all(orders);
}

Simulation TrainingSimulation::run_all(const std::vector<TaskOrder>& orders) const {
  return for_all(run_classes(programs_of(orders), nullptr));
}

Programs TrainingSimulation::programs_of(const std::vector<TaskOrder>& orders) const {
  const std::vector<int> representatives = shift_.representatives();
  std::vector<int> some;
  for (const int p : classes_.programs().first)
    some.push_back(representatives[static_cast<std::size_t>(p)]);
  return compiler_.compile(orders, &some);
}

Simulation TrainingSimulation::for_all(Simulation of_classes) const {
  const std::vector<int> representatives = shift_.representative_of_each();
  std::vector<SimulatedDevice> devices;
  devices.reserve(representatives.size());
  for (const Stage& stage : plan_.stages) {
    for (const std::vector<DeviceId>& replica : stage.devices) {
      for (const DeviceId device : replica) {
        const auto representative = static_cast<std::size_t>(representatives[devices.size()]);
        devices.push_back(
            of_classes.devices[static_cast<std::size_t>(classes_.programs().of[representative])]);
        devices.back().device = device;
      }
    }
  }
  of_classes.devices = std::move(devices);
  return of_classes;
}

Simulation TrainingSimulation::run_classes(const Programs& programs, RepetitionWatch* watch) const {
  check_split(instance_, plan_, programs);
  EventQueue events;
  Network network(events);
  Prices prices = prices_.of_classes(classes_.all());
  const ProgramClasses::Routes routes = classes_.add_routes(prices, network);
  const SimulatedRoutes simulated = {
      [&](DeviceId from, DeviceId to) { return routes.of_ways[classes_.way_class(from, to)]; },
      routes.of_collectives};
  return Simulator(programs, std::move(prices), simulated, gathers_.of_classes(classes_.all()),
                   network, {Recording::sums})
      .run(watch);
}

/// Ever more periods are kept until the states repeat; nothing where so few are left out that it
/// would be in vain.
std::optional<Simulation> TrainingSimulation::run_repeated(
    const std::vector<TaskOrder>& orders) const {
  const std::optional<RepeatedTasks> repeated =
      repeated_tasks(orders, static_cast<int>(plan_.micro_batches));
  if (!repeated) return std::nullopt;
  int kept = first_kept(*repeated);
  while (true) {
    const int left_out = repeated->periods() - kept;
    if (3 * left_out * repeated->micro_batches < static_cast<int>(plan_.micro_batches))
      return std::nullopt;
    const auto shorter = without_periods(orders, *repeated, left_out);
    if (!shorter) return std::nullopt;
    const Programs programs = programs_of(*shorter);
    std::vector<RepeatedInstructions> instructions;
    for (const Program& program : programs) {
      instructions.push_back(repeated_instructions(program, repeated->stages[program.stage.index()],
                                                   repeated->micro_batches));
    }
    RepetitionWatch watch(std::move(instructions));
    Simulation simulation = run_classes(programs, &watch);
    if (!watch.found()) {
      kept *= 2;
    } else if (const int rest = left_out % watch.found()->periods; rest > 0) {
      kept += rest;
    } else {
      add_repetitions(simulation, *watch.found(), left_out / watch.found()->periods);
      return for_all(std::move(simulation));
    }
  }
}

}  // namespace pptrain
