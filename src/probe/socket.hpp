#pragma once

#include <optional>
#include <vector>

namespace pptrain {

/// The ranks of a host socket by socket, those of each in order, so that devices whose numbers are
/// close, as those of a tensor-parallel group are, share one. `sockets`: of all ranks, by rank.
std::vector<int> socket_by_socket(std::vector<int> ranks,
                                  const std::vector<std::optional<int>>& sockets);

}  // namespace pptrain
