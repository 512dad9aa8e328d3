#pragma once

#include <mpi.h>

#include "base/timing.hpp"

namespace pptrain::test {

/// A time of all ranks that passes while every one of them sleeps, and then at once to where the
/// first is due: what a rank computes takes none of it, and neither does a machine that is slow or
/// busy. So sleeps, the waits between them and timeouts last what the program makes of them, on any
/// machine.
///
/// A nap between two looks for a message ends when somebody sends this rank one, and grows while
/// nobody does: to hand a busy machine from one rank to the other takes milliseconds, so that must
/// not happen at every look.
///
/// PPTRAIN_TEST_CLOCK=machine makes it the machine's time all the same, for those who want to
/// measure.
class SimulatedTime final : public TimeSource {
 public:
  /// Collective over `comm`, whose ranks share one host; so is the end.
  explicit SimulatedTime(MPI_Comm comm);
  ~SimulatedTime() override;
  SimulatedTime(const SimulatedTime&) = delete;
  SimulatedTime& operator=(const SimulatedTime&) = delete;

  double wall_seconds() override;
  void sleep_until(double time) override;
  /// False where it is the machine's.
  bool is_simulated() const { return is_simulated_; }

  /// The rank's time is the simulated one as long as this lives. All that ranks do meanwhile to
  /// wait for each other has to sleep: a rank in a blocking call of MPI keeps the time from
  /// passing.
  class Section {
   public:
    /// Collective over the ranks; the end is not.
    explicit Section(SimulatedTime& time);
    ~Section();
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

   private:
    SimulatedTime& time_;
  };

 private:
  struct Memory;

  void join();
  void leave();
  void pass();
  double nap_end(double time);
  void ring(int rank);

  MPI_Comm comm_;
  bool is_simulated_;
  int rank_ = 0;
  int naps_ = 0;  ///< one after another, since the last message
  MPI_Win window_ = MPI_WIN_NULL;
  Memory* memory_ = nullptr;  ///< of all ranks
};

}  // namespace pptrain::test
