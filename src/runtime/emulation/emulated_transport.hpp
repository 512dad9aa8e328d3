#pragma once

#include <memory>

#include "comm/communicator.hpp"
#include "runtime/emulation/emulated_clock.hpp"
#include "runtime/emulation/link_replay.hpp"
#include "runtime/places/role.hpp"

namespace pptrain {

/// Messages that take as long as the links of an emulated cluster say. The sender writes them into
/// the log and tells the receiver the number of the entry; the receiver has them once the links
/// have brought them.
class EmulatedTransport final : public Transport {
 public:
  /// `notes` carries the numbers. Without `payload` the data stay where they are.
  EmulatedTransport(std::unique_ptr<Transport> payload, std::unique_ptr<Transport> notes,
                    const Cluster& cluster, const RankMap& map, DeviceId own, SharedLog& log,
                    EmulatedClock& clock)
      : payload_(std::move(payload)),
        notes_(std::move(notes)),
        map_(map),
        own_(own),
        log_(log),
        clock_(clock),
        links_(cluster, log, own) {}

  PendingPtr send(RankId to, int tag, const void* data, std::size_t bytes) override;
  /// The clock has come to the arrival when the result has ended.
  PendingPtr receive(RankId from, int tag, void* data, std::size_t bytes) override;
  int num_tags() const override { return notes_->num_tags(); }

 private:
  std::unique_ptr<Transport> payload_;
  std::unique_ptr<Transport> notes_;
  const RankMap& map_;
  DeviceId own_;
  SharedLog& log_;
  EmulatedClock& clock_;
  LinkReplay links_;
};

}  // namespace pptrain
