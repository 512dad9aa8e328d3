#include "comm/device_transport.hpp"

namespace pptrain {

PendingPtr DeviceTransport::send(RankId to, int tag, const void* data, std::size_t bytes) {
  StagedWork work;
  work.behind = staging_.device().work_so_far();
  work.move = [this, to, tag, data, bytes](std::byte*) { return mpi_->send(to, tag, data, bytes); };
  return std::make_unique<StagedTransfer>(staging_, std::move(work));
}

PendingPtr DeviceTransport::receive(RankId from, int tag, void* data, std::size_t bytes) {
  StagedWork work;
  work.behind = staging_.device().work_so_far();
  work.move = [this, from, tag, data, bytes](std::byte*) {
    return mpi_->receive(from, tag, data, bytes);
  };
  return std::make_unique<StagedTransfer>(staging_, std::move(work));
}

}  // namespace pptrain
