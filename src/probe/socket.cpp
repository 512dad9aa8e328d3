#include "probe/socket.hpp"

#include <hwloc.h>

#include <algorithm>
#include <memory>

#include "comm/mpi.hpp"

namespace pptrain {

std::optional<int> own_socket() {
  hwloc_topology_t loaded = nullptr;
  hwloc_topology_init(&loaded);
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology(loaded, hwloc_topology_destroy);
  hwloc_topology_load(loaded);
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> bound(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  if (hwloc_get_nbobjs_by_type(loaded, HWLOC_OBJ_PACKAGE) < 2) return std::nullopt;
  if (hwloc_get_cpubind(loaded, bound.get(), HWLOC_CPUBIND_PROCESS) != 0) return std::nullopt;
  for (hwloc_obj_t socket = nullptr;
       (socket = hwloc_get_next_obj_by_type(loaded, HWLOC_OBJ_PACKAGE, socket)) != nullptr;) {
    if (hwloc_bitmap_isincluded(bound.get(), socket->cpuset) != 0) return static_cast<int>(socket->logical_index);
  }
  return std::nullopt;
}

std::vector<int> socket_by_socket(std::vector<int> ranks, const std::vector<std::optional<int>>& sockets) {
  std::stable_sort(ranks.begin(), ranks.end(), [&sockets](int a, int b) {
    return sockets[static_cast<std::size_t>(a)] < sockets[static_cast<std::size_t>(b)];
  });
  return ranks;
}

std::vector<std::optional<int>> all_sockets(MPI_Comm world) {
  constexpr int unknown = -1;
  const int own = own_socket().value_or(unknown);
  std::vector<int> all(static_cast<std::size_t>(size_of(world)));
  MPI_Allgather(&own, 1, MPI_INT, all.data(), 1, MPI_INT, world);
  std::vector<std::optional<int>> sockets;
  for (const int socket : all) sockets.push_back(socket == unknown ? std::nullopt : std::optional(socket));
  return sockets;
}

}  // namespace pptrain
