#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cost/cost.hpp"
#include "cost/time_curve.hpp"

namespace pptrain {

/// The devices of one kind that nodes have, and the best links that any of them has.
struct UsedKind {
  std::string name;
  double devices = 0.0;
  int largest_node = 0;  ///< devices
  Link inside;           ///< of a node with at least two devices; bandwidth 0: there is none
  Link between;          ///< to another node; bandwidth 0: there is none
};

/// All m that divide the batch, ascending.
std::vector<std::int64_t> micro_batch_counts(std::int64_t global_batch_size);

/// Seconds of a micro-batch of b samples: seconds + per_sample * b.
struct LinearSeconds {
  double seconds = 0.0;
  double per_sample = 0.0;
};

/// One layer on one kind of device at one tensor-parallel degree.
struct DegreeRows {
  int kind = 0;  ///< index into `BoundInputs::kinds`
  int degree = 1;
  bool mixed = false;  ///< other kinds have rows at this degree too: a group may hold several kinds
  std::vector<TimePoint> total;  ///< F + B + W, samples ascending
  std::vector<TimePoint> path;   ///< F + B, with W where the profile does not tell them apart
  /// Collectives of F and B as flat rings inside the best node, one entry for each pattern that may
  /// be the best; nothing where no node has so many devices.
  std::vector<LinearSeconds> inside;
  /// Collectives of F and B as flat rings in a group that spans nodes, one entry for each pattern
  /// that may be the best; nothing where no group does.
  std::vector<LinearSeconds> between;

  /// What no collective algorithm is faster than, wherever the group lies.
  std::vector<LinearSeconds> tensor() const;
  /// Seconds of `tensor` that count as work of this kind of device. Where shards are uneven a
  /// device of a mixed group computes its share, but waits for all collectives: no part of these
  /// can be counted in proportion to its work.
  std::vector<LinearSeconds> tensor_work() const;
};

/// Layers that cost the same.
struct EqualLayers {
  double count = 0.0;
  std::vector<DegreeRows> rows;
};

/// What the lower bounds are made of.
struct BoundInputs {
  /// `recompute`: what every stage does; nothing: any.
  BoundInputs(const Instance& instance, std::optional<Recompute> recompute);

  std::vector<UsedKind> kinds;
  std::vector<EqualLayers> layers;
  double num_devices = 0.0;
};

}  // namespace pptrain
