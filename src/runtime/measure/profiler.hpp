#pragma once

#include <mpi.h>

#include <functional>
#include <optional>
#include <vector>

#include "cluster/cluster.hpp"
#include "comm/waiter.hpp"
#include "config/config.hpp"
#include "kernels/backend.hpp"
#include "model/model.hpp"
#include "plan/plan.hpp"
#include "profile/profile.hpp"
#include "runtime/places/role.hpp"

namespace pptrain {

/// Called on rank 0 while timing goes on: tasks done of all.
using ProfileProgress = std::function<void(int done, int total)>;

/// The part of a profile that needs no measurement: parameters and bytes of every layer.
Profile layer_sizes(const Config& config, const Model& model);

/// The tensor-parallel degrees to time, rising, 1 among them: those of a given plan, the one that
/// the configuration fixes, or those that divide the heads, with what annotations ask for. Where a
/// degree does not divide an axis the largest shard is timed.
std::vector<int> profiled_degrees(const Config& config, const Model& model, const Cluster& cluster,
                                  const std::optional<Plan>& given);

/// Refuses a planner, degrees and batch sizes that no plan can have, before anything is measured.
/// Throws `Error` (exit code 2) with the place of the key.
void check_parallelism(const Config& config, const Model& model, const Cluster& cluster);

/// The profile that a text describes, which every rank has. Reading thousands of layers takes long,
/// so ranks give signs of life to one another meanwhile. `source`: the text's name in messages.
/// Throws `Error` on all ranks. Collective over `world`.
Profile parse_profile_together(MPI_Comm world, Waiter& waiter, const std::string& text,
                               const std::string& source);

/// What is timed, and on what. What is referred to outlives it.
struct MeasuredModel {
  const Config& config;
  const Model& model;
  const Cluster& cluster;
  RankMap map;
  std::vector<int> degrees;                 ///< of tensor parallelism
  const Backend& backend = host_backend();  ///< of this rank
};

/// Times the distinct (layer kind, tensor-parallel degree) tasks of the model at its degrees on
/// every device kind of the cluster for rising numbers of samples, dealt out to the ranks of the
/// kind; where ranks share cores only as many ranks of a host time at once as it has cores. Every
/// rank gets the whole profile. Collective over `world`.
Profile measure_profile(MPI_Comm world, Waiter& waiter, const MeasuredModel& measured,
                        const ProfileProgress& progress);

/// File in the user's cache for what was measured under the same key: hardware, ranks, model,
/// precision, degrees, `devices` that compute (those of all ranks), and this build of pptrain. "",
/// with a warning that says why, where the user has no cache that can be reached. Called on rank 0.
std::string profile_cache_path(const Config& config, const Model& model, const Cluster& cluster,
                               const std::vector<int>& degrees, const std::string& devices);

}  // namespace pptrain
