#pragma once

#include <mpi.h>

#include <optional>

#include "comm/mpi.hpp"

namespace pptrain {

/// Tells all ranks that one has given up, so that each ends with a message of its own or a common
/// one instead of waiting in vain or being ended without a word.
class Alarm {
 public:
  /// Why a rank gives up: it waited too long for another, or it failed by itself.
  enum class Reason { waited, failed };
  /// What a rank hears.
  struct Call {
    int rank;  ///< that raised it
    Reason reason;
  };

  /// Collective over `world`.
  explicit Alarm(MPI_Comm world) : comm_(MpiComm::duplicate(world)) {}

  /// Tells every other rank, once.
  void raise(Reason reason);
  /// Why this rank has raised it, if it has.
  std::optional<Reason> raised() const { return raised_; }
  /// Who raised it, as far as this rank has heard.
  std::optional<Call> heard();
  /// The ranks that hear it, to talk to them about what happened; nothing else is sent there.
  MPI_Comm comm() const { return comm_.get(); }

 private:
  MpiComm comm_;
  std::optional<Reason> raised_;
};

}  // namespace pptrain
