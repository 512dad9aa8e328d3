#pragma once

#include <mpi.h>

#include <functional>

#include "cluster/cluster.hpp"
#include "comm/waiter.hpp"
#include "config/config.hpp"
#include "model/model.hpp"
#include "profile/profile.hpp"
#include "runtime/role.hpp"

namespace pptrain {

/// Called on rank 0 while timing goes on: tasks done of all.
using ProfileProgress = std::function<void(int done, int total)>;

/// The part of a profile that needs no measurement: parameters and bytes of every layer.
Profile layer_sizes(const Config& config, const Model& model);

/// Refuses degrees and batch sizes that no plan can have, before anything is measured. Throws
/// `Error` (exit code 2) with the place of the key.
void check_parallelism(const Config& config, const Model& model, const Cluster& cluster);

/// Times the distinct (layer kind, tensor-parallel degree) tasks of the model on every device kind
/// of the cluster for rising numbers of samples, dealt out to the ranks of the kind; where ranks
/// share cores only as many ranks of a host time at once as it has cores. Every rank gets the
/// whole profile. Collective over `world`.
Profile measure_profile(MPI_Comm world, Waiter& waiter, const Config& config, const Model& model,
                        const Cluster& cluster, const RankMap& map, const ProfileProgress& progress);

/// File in the user's cache for what was measured under the same key: hardware, ranks, model,
/// precision, and this build of pptrain.
std::string profile_cache_path(const Config& config, const Model& model, const Cluster& cluster);

}  // namespace pptrain
