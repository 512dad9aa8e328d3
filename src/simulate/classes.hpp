#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "cluster/cluster.hpp"
#include "program/program.hpp"
#include "simulate/network.hpp"
#include "simulate/partition.hpp"
#include "simulate/prices.hpp"
#include "simulate/received_gathers.hpp"
#include "simulate/replica_shift.hpp"

namespace pptrain {

/// Programs of a plan in classes whose members do the same at the same time, so that one of each
/// need be simulated.
///
/// Classes are refined until they are equitable: programs of a class have the same stage and
/// prices, exchange the same in the same order with programs of the same classes on ways of the
/// same classes, and meet programs of the same classes in tasks and collectives; ways and
/// collectives of a class pass links of the same classes; each link of a class is passed by as many
/// ways and by as many bytes of collectives of each class. As long as the members of each class
/// have done the same, the max-min fair rates, which are unique, are equal within the classes of
/// ways, so that they go on doing the same.
class ProgramClasses {
 public:
  /// `sample`: all programs, of one micro-batch, or those of representatives by `shift`; `prices`
  /// and `gathers` are theirs.
  ProgramClasses(const Cluster& cluster, const Programs& sample, const Prices& prices,
                 ReceivedGathers& gathers, ReplicaShift shift);

  /// Classes of programs and of all that programs take part in, as `Prices::of_classes` takes them.
  const SimulatedClasses& all() const { return classes_; }
  /// Classes of the programs, by their places in the sample.
  const Partition& programs() const { return classes_.programs; }

  /// Routes in a network.
  struct Routes {
    std::vector<int> of_ways;         ///< by class of ways
    std::vector<int> of_collectives;  ///< by class of collectives; -1: they share no uplinks
  };
  /// Puts a route for each class of ways, and of collectives that share uplinks, into the network.
  /// `prices` are those of `Prices::of_classes`.
  Routes add_routes(const Prices& prices, Network& network) const;
  /// The class of a way on which something is sent.
  int way_class(DeviceId from, DeviceId to) const;

 private:
  /// What a thing must have in common with others of its class.
  using Signature = std::vector<std::int64_t>;
  /// A way from one program to another, where something is sent; it begins at a representative and
  /// stands for all to which shifts take it.
  struct Way {
    int from = 0;
    int to = 0;
    Link path;
    std::vector<int> links;
    Signature sent;  // what, in order
  };
  /// An uplink in one direction, or any of those to which shifts take it.
  struct WayLink {
    struct Use {
      int way = 0;
      int ways = 1;  // of those that the way stands for, how many pass the link
    };
    struct CollectiveUse {
      int collective = 0;
      double bytes = 0.0;  // of those that the collective stands for too, on any one of the links
    };
    double bandwidth = 0.0;
    std::vector<Use> uses;
    std::vector<CollectiveUse> collectives;
  };

  void find_ways(const Cluster& cluster, const Programs& sample);
  std::pair<int, int> way_key(DeviceId from, DeviceId to) const;
  void find_groups(const Programs& sample, ReceivedGathers& gathers);
  void find_collectives(const std::vector<PricedCollective>& collectives);
  int link(const Uplink& uplink);
  void start(const Programs& sample, const Prices& prices);
  bool refine(const Prices& prices, const ReceivedGathers& gathers);
  void refine_groups(const Prices& prices, const ReceivedGathers& gathers);
  void add_signature(Signature& signature, int program, const Prices& prices) const;
  void add_signature(Signature& signature, const WayLink& link) const;
  double bytes_of_collectives(int type, int link) const;

  ReplicaShift shift_;
  std::vector<Way> ways_;
  std::vector<WayLink> links_;
  std::map<std::pair<int, int>, int> way_index_;  // by devices, the first a representative
  std::map<std::pair<int, Uplink::Direction>, int> link_index_;
  std::vector<std::vector<int>> ways_of_;     // by program: what it sends and receives, in order
  std::vector<std::vector<ChunkId>> chunks_;  // by program
  std::vector<std::vector<int>> gathers_of_;  // by program: numbers of the gathers of slices, in
                                              // order
  std::vector<std::vector<int>> links_of_;    // by collective: each once
  SimulatedClasses classes_;
  Partition way_classes_;
  Partition link_classes_;
};

}  // namespace pptrain
