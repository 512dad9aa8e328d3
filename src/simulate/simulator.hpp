#pragma once

#include <vector>

#include "simulate/collectives.hpp"
#include "simulate/deliveries.hpp"
#include "simulate/events.hpp"
#include "simulate/prices.hpp"
#include "simulate/program_progress.hpp"
#include "simulate/received_gathers.hpp"
#include "simulate/repetition.hpp"
#include "simulate/simulate.hpp"
#include "simulate/weight_waits.hpp"

namespace pptrain {

/// Numbers of routes in the network.
struct SimulatedRoutes {
  RouteOf of_way;
  std::vector<int> of_collectives;  ///< by priced collective; -1: it shares no uplink
};

/// One run of `simulate`: programs go on from event to event.
class Simulator {
 public:
  /// `prices` and `routes` in the `network`, which outlives it, are those of the programs; `routes`
  /// outlives it too.
  Simulator(const Programs& programs, Prices prices, const SimulatedRoutes& routes,
            ReceivedGathers received_gathers, Network& network, const SimulateOptions& options);

  /// Once. A watch is shown states while it wants them.
  Simulation run(RepetitionWatch* watch = nullptr);

 private:
  using State = ProgramProgress::State;

  // simulator.cpp: instructions in order.
  int num_programs() const { return static_cast<int>(programs_.size()); }
  const Instruction& current(int p) const { return programs_[p].instructions[progress_[p].next]; }
  void handle(const Event& event);
  void resume(double now, int p);
  void advance(double now, int p);
  bool execute(double now, int p);
  bool block(double now, int p, State state);
  void meet_all(double now, int p);
  void record(int p, Lane lane, const Instruction& instruction, double begin, double end);
  void finish(int p);

  // simulator_state.cpp: what is to come, for who looks for repetitions.
  void show_state(double now, RepetitionWatch& watch) const;
  StateRecord state_at(double now) const;
  void describe(double now, int p, StateRecord& state) const;
  void describe_events(double now, StateRecord& state) const;

  // simulator_tasks.cpp: what computes.
  void task(double now, int p);
  void start_task(double now, int p);
  void hand_over(int p);
  void take_received(int p);
  void add_tied(int p);
  void occupy(double now, int p, double seconds);
  void end_task(double now, int p);
  void step(double now, int p);

  // simulator_communication.cpp: what a program waits for.
  void post(int p);
  void send(double now, int p);
  bool receive(double now, int p);
  void arrive(double now, int number);
  void gather_received(double now, int p);
  void wait_ends(double now, int p, double under_way_since);
  char& weights_of(int p, ChunkId chunk);
  bool has_weights(double now, int p);
  void gather(double now, int p);
  void release(int p);
  void weights_come(double now, int p, ChunkId chunk, double started);
  void reduce(double now, int p);
  void start_reduction(double now, int p, int number);
  void hold_buckets(int p, const PricedCollective& sum);
  bool wait_gradients(double now, int p);
  void left(double now, int number);
  void end_collective(double now, int index);

  const Programs& programs_;
  Recording recording_;
  Prices prices_;
  EventQueue& events_;
  Network& network_;
  Deliveries deliveries_;
  Collectives collectives_;
  ReceivedGathers received_gathers_;
  std::vector<ProgramProgress> progress_;
  std::vector<int> group_arrived_;
  std::vector<char> has_weights_;  // by program and chunk, of those that gather them
  std::vector<WeightWaits> weight_waits_;
  int all_arrived_ = 0;
  Simulation result_;
};

}  // namespace pptrain
