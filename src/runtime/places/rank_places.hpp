#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "comm/waiter.hpp"
#include "plan/plan.hpp"
#include "runtime/places/role.hpp"

namespace pptrain {

/// Where one rank runs, and what it does there.
struct RankPlace {
  std::string host;
  DeviceId device;
  std::optional<Role> role;                  ///< nothing for a device that the plan leaves out
  std::optional<int> socket = std::nullopt;  ///< of the host, where it has several and the rank is
                                             ///< bound to one
};

/// The place of every rank on rank 0, by rank; empty elsewhere. Collective over `world`.
std::vector<RankPlace> rank_places(MPI_Comm world, Waiter& waiter, const RankMap& map,
                                   const Plan& plan);

/// A table for people: rank, host, socket where any is known, device, stage, replica and shard.
/// Ranks that follow one another on one host and socket, with devices of one kind that do so too,
/// and in one stage, take one line.
std::string describe_places(const std::vector<RankPlace>& places, const Cluster& cluster);

/// The places of ranks for programs, a list with an object for each rank; without stage, replica
/// and shard where it is idle, without socket where that is not known.
std::string places_to_json(const std::vector<RankPlace>& places, const Cluster& cluster);

}  // namespace pptrain
