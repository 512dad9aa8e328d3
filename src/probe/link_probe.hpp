#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "cluster/cluster.hpp"
#include "comm/mpi_communicator.hpp"
#include "comm/staging.hpp"
#include "comm/waiter.hpp"
#include "probe/rank_hosts.hpp"

namespace pptrain {

/// Measures links between the devices of two ranks, as groups of them will communicate: directly
/// (NCCL) between GPUs of their own, by MPI by way of the host where one is shared or the host
/// itself computes.
class LinkProbe {
 public:
  /// `ranks` and `own`, null where this rank computes with the host, outlive it. Collective over
  /// `world`.
  LinkProbe(MPI_Comm world, Waiter& waiter, const std::vector<RankHost>& ranks,
            const ProbedGpu* own);
  LinkProbe(const LinkProbe&) = delete;
  LinkProbe& operator=(const LinkProbe&) = delete;

  /// Between two ranks while all others sleep, on all ranks. Throws `Error` (exit code 4) on all
  /// ranks where it fails. Collective.
  Link measure(int first, int second);

 private:
  Link measure_own(int first, int second);
  bool go_directly(int first, int second) const;
  Link measure_directly(int first, int second);
  Link measure_staged(int peer, bool starts);
  double one_way_seconds(int peer, bool starts, std::size_t bytes, int repetitions);

  MPI_Comm world_;
  Waiter& waiter_;      ///< for all ranks
  Waiter pair_waiter_;  ///< for the other rank of a pair, which may have failed
  const std::vector<RankHost>& ranks_;
  const ProbedGpu* own_;
  std::unique_ptr<Staging> staging_;      ///< null where this rank computes with the host
  std::unique_ptr<Transport> transport_;  ///< null where all do
  Arena arena_;
};

/// Between a device and memory of its host that it copies fastest from: the slower of the two
/// directions.
Link measure_host_link(Device& device);

}  // namespace pptrain
