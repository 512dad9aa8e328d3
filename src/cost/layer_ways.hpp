#pragma once

#include <limits>
#include <vector>

#include "cost/bound_inputs.hpp"

namespace pptrain {

/// Where the groups of a stage lie.
enum class GroupPlacement {
  one_node,        ///< the whole stage in one node
  spanning,        ///< tensor-parallel groups inside nodes, two replicas or more on several
  spanning_groups  ///< tensor-parallel groups between nodes
};

/// One way of computing a layer with a share b of the B samples in [low, high]: in a stage of B / b such
/// replicas, whose means are taken.
struct Way {
  double low = 0.0;
  double high = 0.0;
  LinearSeconds seconds;       ///< of a replica
  LinearSeconds priced;        ///< of its devices, added up at their prices
  double gradient = 0.0;       ///< 2 G / D / bandwidth: what each replica after the first adds to the all-reduces' mean
  double memory = 0.0;         ///< part of all devices' memory, however many replicas there are
  double memory_of_one = 0.0;  ///< the same for each replica
  GroupPlacement placement = GroupPlacement::one_node;
  /// The least of replicas, of seconds and of the devices' seconds at their prices over all shares.
  double least_replicas = 0.0;
  double least_seconds = 0.0;
  double least_used = 0.0;
};

/// The ways of layers that cost the same.
struct LayerWays {
  double count = 0.0;
  std::vector<Way> ways;
};

/// All ways with micro-batches of `samples`, with the price of a device of each kind.
std::vector<LayerWays> layer_ways(const BoundInputs& inputs, double samples, const std::vector<double>& prices);

/// What a layer is charged, and the most seconds it may take.
struct Charges {
  double line = 1.0;           ///< for each second of the stage
  double capacity = 0.0;       ///< for each second of all devices
  double node_capacity = 0.0;  ///< the same in addition, where the whole stage is in one node
  double memory = 0.0;         ///< for all memory
  double longest = std::numeric_limits<double>::infinity();
};

/// Least charge of layers, and how they are computed then.
struct Charge {
  double seconds = std::numeric_limits<double>::infinity();
  double line = 0.0;    ///< seconds of the stages, added up
  double used = 0.0;    ///< seconds of the devices at their prices
  double memory = 0.0;  ///< part of all memory
};

/// Every layer in the way that is charged least.
Charge least_charge(const std::vector<LayerWays>& layers, double samples, const Charges& charges);

}  // namespace pptrain
