#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/cost.hpp"
#include "cost/time_curve.hpp"

namespace pptrain {

/// The devices of one kind that nodes have, and the best links that any of them has.
struct UsedKind {
  std::string name;
  double devices = 0.0;
  double cores = 0.0;    ///< devices that can compute at the same time: on nodes that share cores, those
  int largest_node = 0;  ///< devices
  Link inside;           ///< of a node with at least two devices; bandwidth 0: there is none
  Link between;          ///< to another node; bandwidth 0: there is none
};

/// All m that divide the batch, ascending.
std::vector<std::int64_t> micro_batch_counts(std::int64_t global_batch_size);

/// Makes `best` at least as good as `link` in bandwidth and in latency; a link without bandwidth limits nothing.
void improve(Link& best, const Link& link);

/// Seconds of a micro-batch of b samples: seconds + per_sample * b.
struct LinearSeconds {
  double seconds = 0.0;
  double per_sample = 0.0;
};

/// How the collectives of a group are timed.
enum class CollectiveLaw {
  flat_ring,  ///< as AMP's estimate does
  any         ///< what no algorithm is faster than
};

/// One layer on one kind of device at one tensor-parallel degree.
struct DegreeRows {
  int kind = 0;  ///< index into `BoundInputs::kinds`
  int degree = 1;
  bool mixed = false;            ///< other kinds have rows at this degree too: a group may hold several kinds
  std::vector<TimePoint> total;  ///< F + B + W, samples ascending
  std::vector<TimePoint> path;   ///< F + B, with W where the profile does not tell them apart
  /// Collectives of F and B as flat rings inside the best node, one entry for each pattern that may be
  /// the best; nothing where no node has so many devices.
  std::vector<LinearSeconds> inside;
  /// The same for a group that spans nodes.
  std::vector<LinearSeconds> between;

  /// Wherever the group lies.
  std::vector<LinearSeconds> tensor(CollectiveLaw law) const;
  /// The same as work of this kind of device. Where shards are uneven a device of a mixed group computes its
  /// share, but waits for all collectives: no part of these can be counted in proportion to its work.
  std::vector<LinearSeconds> tensor_work(CollectiveLaw law) const;
};

/// Layers that cost the same.
struct EqualLayers {
  double count = 0.0;
  double gradient_bytes = 0.0;    ///< of one layer
  double replicated_bytes = 0.0;  ///< that every replica holds between its members
  double shared_bytes = 0.0;      ///< that all replicas hold between them (ZeRO)
  double stored_bytes = 0.0;      ///< that each member holds for a sample of a micro-batch
  std::vector<DegreeRows> rows;
};

/// What the lower bounds are made of.
struct BoundInputs {
  BoundInputs(const Instance& instance, const MemorySavings& savings);

  std::vector<UsedKind> kinds;
  std::vector<EqualLayers> layers;
  double num_devices = 0.0;
  double memory = 0.0;  ///< bytes of all devices, less the workspace
  double num_layers = 0.0;
  double least_output_bytes = 0.0;  ///< per sample, of the layer after which a cut costs least
};

}  // namespace pptrain
