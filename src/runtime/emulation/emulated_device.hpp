#pragma once

#include <vector>

#include "comm/mpi_communicator.hpp"
#include "comm/shared_log.hpp"
#include "cost/cost.hpp"
#include "runtime/emulation/emulated_clock.hpp"
#include "runtime/execute/session.hpp"

namespace pptrain {

/// A rank that trains for real and takes the time of a device of an emulated cluster: what
/// decorates the layers, the optimizer and the communication of its session, and caps its memory.
class EmulatedDevice final : public CommunicationDecorator {
 public:
  /// Everything given outlives it. Collective over `world`.
  EmulatedDevice(MPI_Comm world, const Instance& instance, const Plan& plan, const RankMap& map,
                 Waiter& waiter);

  /// Decorates the session that is made with them; this outlives it.
  void apply_to(SessionOptions& options);

  std::unique_ptr<Communicator> decorate(std::unique_ptr<Communicator> group, GroupKind kind,
                                         const std::vector<int>& ranks, int tag,
                                         double share) override;
  std::unique_ptr<Transport> decorate(std::unique_ptr<Transport> transport) override;
  void start_iteration() override { clock_.reach(EmulatedClock::host()); }

 private:
  LayerSeconds seconds_of(const StagePart& part, int replica) const;
  std::unique_ptr<LayerModule> emulated(std::unique_ptr<LayerModule> real, const Layer& layer);
  void meet(const std::vector<RankId>& group);
  double bandwidth_between(const std::vector<DeviceId>& devices, GroupKind kind) const;
  std::vector<RankId> others_of(const std::vector<int>& ranks) const;

  const Instance& instance_;
  const Plan& plan_;
  const RankMap& map_;
  Waiter& waiter_;
  MPI_Comm world_;
  RankId rank_;
  DeviceId device_;
  std::optional<Role> role_;
  SharedLog log_;
  EmulatedClock clock_;
  MpiTransport meetings_;
};

}  // namespace pptrain
