#pragma once

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "comm/mpi_communicator.hpp"
#include "comm/shared_log.hpp"
#include "comm/waiter.hpp"
#include "program/trace.hpp"
#include "runtime/emulation/counted_memory.hpp"
#include "runtime/emulation/emulated_lane.hpp"
#include "runtime/emulation/emulated_transport.hpp"
#include "runtime/execute/executor.hpp"
#include "runtime/places/role.hpp"
#include "simulate/collectives.hpp"
#include "simulate/prices.hpp"
#include "simulate/received_gathers.hpp"
#include "simulate/task_bytes.hpp"
#include "simulate/transfers.hpp"
#include "simulate/weight_waits.hpp"

namespace pptrain {

/// Runs the programs of a plan without numbers: one rank per device of an emulated cluster, tasks
/// and collectives are waits, messages carry nothing, memory is counted. What everything takes is
/// what the simulator says of it alone; when it happens is up to the ranks, their messages and the
/// host's clock.
class Rehearsal {
 public:
  /// Throws `Error` (exit code 4) where what a device holds all the time is more than it has.
  /// Collective over `world`.
  Rehearsal(MPI_Comm world, const Instance& instance, const Plan& plan, const RankMap& map,
            Waiter& waiter);
  ~Rehearsal();
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;

  /// One iteration, from when the last rank is there until the last one is done. The result has
  /// neither loss nor norm. With `trace`, tasks and waits are left there in place of what it held.
  /// Collective.
  IterationResult run(Trace* trace);
  /// Most bytes that this rank's device had in use at once in all iterations; 0 where the plan
  /// leaves it out.
  std::size_t peak_bytes() const { return memory_.peak_bytes(); }

 private:
  static constexpr int nowhere = -1;

  void run_program(Trace* trace);
  void execute(const Instruction& instruction, std::size_t number);
  void task(const Instruction& instruction, std::size_t number);
  void take_memory(const Instruction& instruction, std::size_t number);
  void give_memory_back(const Instruction& instruction);
  void send(const Instruction& instruction, std::size_t number);
  void receive(const Instruction& instruction, std::size_t number);
  void gather_received(const Instruction& instruction);
  PendingPtr start_collective(int number);
  PendingPtr start_across(int number, int after);
  void gather(ChunkId chunk);
  void reduce(ChunkId chunk, bool after_task);
  void wait_gradients();
  double meet(const std::vector<RankId>& others, int tag, double time);
  void wait(Pending& pending);
  std::vector<RankId> others_of(const std::vector<int>& programs) const;
  int tag_of(std::size_t number) const;
  std::string place() const;

  const RankMap& map_;
  Waiter& waiter_;
  RankId rank_;
  DeviceId device_;
  Programs programs_;
  Prices prices_;
  std::vector<double> collective_seconds_;  ///< by number in the prices
  int own_ = nowhere;  ///< this rank's program; nowhere on a rank that the plan leaves out
  CountedMemory memory_;
  TaskBytes task_bytes_;
  Transfers transfers_;
  ReceivedGathers received_gathers_;
  SharedLog log_;
  EmulatedClock clock_;
  EmulatedTransport transport_;
  MpiTransport meetings_;
  std::vector<RankId> everyone_;       ///< but this rank
  std::vector<RankId> all_of_plan_;    ///< of the plan, but this rank
  std::map<int, EmulatedLane> lanes_;  ///< by their numbers in the prices
  std::list<PendingPtr> sent_;
  std::vector<PendingPtr> gradients_;
  std::map<int, PendingPtr> weights_;  ///< that were gathered, by chunk
  WeightWaits weight_waits_;           ///< of the iteration
  int stored_ = 0;
  const Instruction* current_ = nullptr;
  double start_ = 0.0;         ///< of the iteration
  double busy_seconds_ = 0.0;  ///< in which the device computes, as the simulator counts them
  IterationResult result_;     ///< in which time that the host was late is idle
};

}  // namespace pptrain
