#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "comm/pending.hpp"
#include "tensor/arena.hpp"
#include "tensor/device.hpp"

namespace pptrain {

class Staging;

/// A piece of a block of the host, and the bytes of a device that lie there.
struct StagedPiece {
  std::size_t offset = 0;  ///< in the block
  void* device = nullptr;
  std::size_t bytes = 0;
};

/// What is done between copies from and to the device.
struct StagedWork {
  DeviceWorkPtr behind = nullptr;      ///< where there is no block: what has to have ended before
  std::size_t bytes = 0;               ///< of the block
  std::vector<StagedPiece> downloads;  ///< before
  std::vector<StagedPiece> uploads;    ///< after
  std::function<PendingPtr(std::byte* block)> move;  ///< starts the transfer on the block
};

/// A transfer of memory of a device by way of the host: a copy from the device, MPI, a copy to it.
/// The transfer has ended when the last copy is in the device's order. One without a block is only
/// MPI's part, which moves the device's memory itself.
class StagedTransfer final : public Pending {
 public:
  StagedTransfer(Staging& staging, StagedWork work);
  ~StagedTransfer() override;
  StagedTransfer(const StagedTransfer&) = delete;
  StagedTransfer& operator=(const StagedTransfer&) = delete;

  bool test() override;
  std::string missing() const override;

 private:
  friend class Staging;
  enum class Phase { download, move, ended };

  /// Whether the copy from the device has ended.
  bool is_downloaded();
  void start_move();
  void try_to_end();

  Staging& staging_;
  StagedWork work_;
  Buffer block_;
  std::vector<DeviceWorkPtr> downloads_;
  PendingPtr transfer_;
  Phase phase_ = Phase::download;
};

/// What all staged transfers of a rank share: blocks of memory of the host, and their progress.
///
/// The device works later than the host tells it: what is to be sent is not yet there when the host
/// goes on to wait for something else. So every wait has to move on all transfers
/// (`Waiter::move_beside`), in the order in which they were started, by which the ranks of a group
/// tell them apart.
class Staging {
 public:
  /// The device must outlive this, and this the transfers.
  explicit Staging(Device& device) : device_(device), blocks_(0, {}, device.host_memory()) {}
  /// Waits for the device; where that has failed, which ends the job, there is nothing to wait for.
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// The device whose memory is moved.
  Device& device() const { return device_; }
  /// Memory of the host from which transfers take the blocks that their data pass through.
  Arena& blocks() { return blocks_; }
  /// Moves on what is under way; never blocks.
  void progress();

 private:
  friend class StagedTransfer;
  /// A block that the device still reads or writes.
  struct Kept {
    Buffer block;
    std::vector<DeviceWorkPtr> works;
  };
  void keep(Buffer block, std::vector<DeviceWorkPtr> works);

  Device& device_;
  Arena blocks_;
  std::list<StagedTransfer*> transfers_;  ///< in the order in which they were started
  std::list<Kept> kept_;
};

}  // namespace pptrain
