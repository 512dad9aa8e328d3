#pragma once

#include <mpi.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace pptrain {

/// By it ranks know of each other that they live while one of them works for long, as rank 0 does
/// that searches a plan: each tells rank 0 from time to time, and rank 0 tells each, whether it
/// waits or computes. So a rank may take as long as it likes, and one that stands still is named by
/// all after the timeout.
///
/// A rank tells while it waits (`look`) and, by a thread, in a `Computing`. The messages go over
/// `world` itself: making a communicator would wait for all ranks without an end.
class Pulse {
 public:
  /// Null where MPI cannot be called by a thread beside the main one. The first sign of a rank is
  /// awaited from here on.
  static std::shared_ptr<Pulse> start(MPI_Comm world, double timeout_seconds);
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  /// Seconds without a sign after which a rank is taken for one that stands still.
  void set_timeout(double seconds);
  /// Tells that this rank lives and waits, and returns the rank that stands still, if one does.
  /// Cheap; to be called several times in a timeout.
  std::optional<int> look();
  /// Since when, in seconds, no rank is known to have computed: all wait for each other.
  double idle_seconds();
  /// What is said of a rank that stands still.
  std::string silence(int rank) const;

  /// While it lives the rank computes and calls nothing of MPI; where another rank stands still
  /// meanwhile, the job ends with exit code 4. No pulse: nothing is told.
  class Computing {
   public:
    explicit Computing(Pulse* pulse) : pulse_(pulse) {
      if (pulse_ != nullptr) pulse_->set_computing(true);
    }
    ~Computing() {
      if (pulse_ != nullptr) pulse_->set_computing(false);
    }
    Computing(const Computing&) = delete;
    Computing& operator=(const Computing&) = delete;

   private:
    Pulse* pulse_;
  };

 private:
  enum class State { waiting, computing };

  Pulse(MPI_Comm world, double timeout_seconds);
  void set_computing(bool computing);
  double period() const;
  std::optional<int> look(State state);
  void receive(double now);
  void tell(State state);
  std::optional<int> find_silent(double now);
  void answer();
  [[noreturn]] void end_job(int silent) const;

  MPI_Comm world_;
  int rank_;
  int size_;
  std::mutex mutex_;  ///< of all below, and of calls of MPI by the thread
  double timeout_seconds_;
  std::vector<double> heard_;  ///< on rank 0 of each rank, elsewhere of rank 0: when it gave its
                               ///< last sign
  std::vector<State> states_;  ///< that it then had
  double looked_;              ///< when this rank last looked
  double told_;                ///< when it last told others
  double worked_;              ///< when it last knew of a rank that computes
  std::optional<int> silent_;  ///< a rank that stands still, once one does
  bool computing_ = false;
  bool ends_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace pptrain
