#include "probe/socket.hpp"

#include <algorithm>

namespace pptrain {

std::vector<int> socket_by_socket(std::vector<int> ranks,
                                  const std::vector<std::optional<int>>& sockets) {
  std::stable_sort(ranks.begin(), ranks.end(), [&sockets](int a, int b) {
    return sockets[static_cast<std::size_t>(a)] < sockets[static_cast<std::size_t>(b)];
  });
  return ranks;
}

}  // namespace pptrain
