#pragma once

#include <optional>
#include <vector>

#include "schedule/schedule.hpp"
#include "simulate/classes.hpp"
#include "simulate/prices.hpp"
#include "simulate/received_gathers.hpp"
#include "simulate/repetition.hpp"
#include "simulate/simulate.hpp"

namespace pptrain {

/// Simulates the programs that training compiles. Those that do the same at the same time are
/// compiled and simulated once (ProgramClasses), so that equal replicas cost next to nothing; the
/// result is that of `simulate`, up to rounding.
class TrainingSimulation {
 public:
  /// Finds the classes. `instance` must outlive it.
  TrainingSimulation(const Instance& instance, Plan plan, CompileOptions options);
  TrainingSimulation(const TrainingSimulation&) = delete;
  TrainingSimulation& operator=(const TrainingSimulation&) = delete;

  /// The plan that is simulated, as it was given.
  const Plan& plan() const { return plan_; }
  /// Devices that stand for all, of which one of each class is simulated.
  int num_representatives() const { return shift_.num_representatives(); }
  /// Tasks of one micro-batch that are simulated: F and B of every chunk on one device of each
  /// class.
  int tasks_per_micro_batch() const;

  /// What the orders of the plan's tasks go by.
  OrderOptions order_options() const;

  /// Simulates these orders of tasks and keeps no events. Where all stages repeat the same tasks
  /// for micro-batch after micro-batch and do so in equal times, what repeats is simulated once:
  /// fewer micro-batches are, and what a period adds is added for those left out. Throws `Error`
  /// (exit code 2) when the orders split B and W and the profile does not.
  Simulation run(const std::vector<TaskOrder>& orders) const;
  /// Simulates these orders of tasks with every micro-batch and keeps no events. Throws as `run`
  /// does.
  Simulation run_all(const std::vector<TaskOrder>& orders) const;
  /// Simulates these orders of tasks with what repeats simulated once; nothing where too little
  /// does. Throws as `run` does.
  std::optional<Simulation> run_repeated(const std::vector<TaskOrder>& orders) const;

 private:
  /// Simulation of one program of each class.
  Simulation run_classes(const Programs& programs, RepetitionWatch* watch) const;
  Programs programs_of(const std::vector<TaskOrder>& orders) const;
  /// What is said of one device of each class said of all.
  Simulation for_all(Simulation of_classes) const;

  const Instance& instance_;
  Plan plan_;
  CompileOptions options_;
  mutable TrainingCompiler compiler_;
  ReplicaShift shift_;
  Programs sample_;  // of its representatives and one micro-batch: shows who sends what to whom
  Prices prices_;
  ReceivedGathers gathers_;
  ProgramClasses classes_;
};

}  // namespace pptrain
