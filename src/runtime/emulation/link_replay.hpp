#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "comm/shared_log.hpp"
#include "simulate/routes.hpp"

namespace pptrain {

/// When bytes arrive that were put on the links of an emulated cluster: what the simulator's
/// `Network` makes of the log of everything that was sent. Each rank plays it for itself, and comes
/// to the same times.
///
/// What was sent lately is played again whenever the log has grown, since ranks append a little
/// later than they sent.
class LinkReplay {
 public:
  LinkReplay(const Cluster& cluster, const SharedLog& log, DeviceId receiver)
      : cluster_(cluster), log_(log), receiver_(receiver), settled_(cluster) {}

  /// When entry `number`, which was sent to the receiver, arrives; nothing if not by `now`. Not
  /// asked again then.
  std::optional<double> arrived(std::uint64_t number, double now);

 private:
  struct Sent {
    std::uint64_t number;
    SentBytes what;
  };
  /// The links at some time.
  struct Links {
    explicit Links(const Cluster& cluster) : network(events), routes(cluster, network) {}
    Links(const Links& other)
        : events(other.events),
          network(other.network, events),
          routes(other.routes, network),
          time(other.time) {}
    Links& operator=(const Links&) = delete;

    EventQueue events;
    Network network;
    ClusterRoutes routes;
    double time = 0.0;
  };
  using Arrivals = std::map<int, double>;  // by transfer

  static int transfer_of(std::uint64_t number) { return static_cast<int>(number & 0x3fffffff); }
  void read_log();
  void settle(double horizon);
  void play(Links& links, double until, Arrivals& arrivals) const;
  void send(Links& links, const Sent& sent, Arrivals& arrivals) const;
  double predicted(std::uint64_t number);

  const Cluster& cluster_;
  const SharedLog& log_;
  DeviceId receiver_;
  std::map<int, double> latencies_;  ///< of transfers to the receiver that have not been found to
                                     ///< have arrived
  Links settled_;                    ///< by all that will not be played again
  Arrivals settled_arrivals_;
  std::deque<Sent> recent_;  ///< in the order of their begin
  std::uint64_t next_ = 0;   ///< of the log
  struct {
    std::uint64_t number = 0;
    std::uint64_t next = 0;  ///< `next_` when it was made; 0: there is none
    double time = 0.0;
  } prediction_;
};

}  // namespace pptrain
