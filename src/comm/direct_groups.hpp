#pragma once

#include <memory>
#include <string>

#include "comm/mpi_communicator.hpp"

namespace pptrain {

/// Makes groups of devices that reach each other's memory without MPI.
class DirectGroups {
 public:
  virtual ~DirectGroups() = default;
  /// By what, for messages: "NCCL".
  virtual std::string name() const = 0;
  /// The device of this rank: equal for two ranks that drive the same one, which cannot be in one
  /// group.
  virtual std::string device_identity() const = 0;
  /// The members of `host`, which stays for what is not in memory of the device; `name` and the
  /// waiter serve messages of a timeout. Collective over them.
  virtual std::unique_ptr<Communicator> make(std::unique_ptr<MpiCommunicator> host,
                                             std::string name, Waiter& waiter) = 0;
  /// Moves on what has been started, in all groups; never blocks.
  virtual void progress() = 0;
  /// The first transfer of a group that has not ended, for messages; "" where all have.
  virtual std::string unfinished() const = 0;
};

}  // namespace pptrain
