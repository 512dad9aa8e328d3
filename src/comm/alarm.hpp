#pragma once

#include <mpi.h>

#include <optional>

#include "comm/mpi.hpp"

namespace pptrain {

/// Tells all ranks that one has given up waiting, so that each ends with a message of what it waited for itself
/// instead of being ended without a word.
class Alarm {
 public:
  /// Collective over `world`.
  explicit Alarm(MPI_Comm world) : comm_(MpiComm::duplicate(world)) {}

  /// Tells every other rank, once.
  void raise();
  /// Whether this rank has raised it.
  bool raised() const { return raised_; }
  /// The rank that raised it, as far as this one has heard.
  std::optional<int> raised_by();

 private:
  MpiComm comm_;
  bool raised_ = false;
};

}  // namespace pptrain
