#pragma once

#include <vector>

#include "cluster/cluster.hpp"
#include "comm/communicator.hpp"
#include "comm/waiter.hpp"

namespace pptrain {

/// How two ranks exchange messages: where each is alone on its node the links between nodes copy.
enum class ExchangeOver { memory, network };

/// CPU seconds of exchanges between two ranks that share cores with others, all of which compute
/// and exchange likewise; what others on the machine do adds little to them.
struct ExchangeSeconds {
  double one = 0.0;    ///< one short message each way, and the wait for both
  double many = 0.0;   ///< `many_messages` of them and one wait
  double large = 0.0;  ///< as many messages of `large_bytes` and one wait

  static constexpr int many_messages = 8;
  static constexpr double short_bytes = 16384.0;  ///< beyond what shared memory sends without
                                                  ///< asking the receiver
  static constexpr double large_bytes = 131072.0;
  static constexpr double network_bytes = 1024.0;
};

/// Medians of several rounds. `peer` is the other rank of the pair, negative for a rank without
/// one. Over a network all messages are of `network_bytes`, since a slow link would keep the ranks
/// waiting. Collective over ranks that share cores.
ExchangeSeconds measure_exchanges(Transport& transport, Waiter& waiter, int peer,
                                  ExchangeOver over);

/// What the exchanges of several ranks, at least one, say together of messages and waits, and of
/// the bytes that a second of a core copies.
struct MessageCosts {
  CoreSeconds core_seconds;
  double copy_bandwidth = 0.0;
};
MessageCosts message_costs(const std::vector<ExchangeSeconds>& ranks);

}  // namespace pptrain
