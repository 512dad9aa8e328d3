#pragma once

#include <memory>

#include "comm/communicator.hpp"
#include "comm/staging.hpp"

namespace pptrain {

/// Messages of memory of a device that MPI reaches itself. MPI knows nothing of the device's order:
/// a message starts when what the device was told before has ended, whether it reads the memory or
/// overwrites it.
class DeviceTransport final : public Transport {
 public:
  DeviceTransport(std::unique_ptr<Transport> mpi, Staging& staging)
      : mpi_(std::move(mpi)), staging_(staging) {}

  PendingPtr send(RankId to, int tag, const void* data, std::size_t bytes) override;
  PendingPtr receive(RankId from, int tag, void* data, std::size_t bytes) override;
  int num_tags() const override { return mpi_->num_tags(); }

 private:
  std::unique_ptr<Transport> mpi_;
  Staging& staging_;
};

}  // namespace pptrain
