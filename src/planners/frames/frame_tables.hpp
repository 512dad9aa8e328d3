#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "cost/layer_sums.hpp"

namespace pptrain {

/// What one member of a replica holds of the layers for a sample of a micro-batch.
struct HeldSums {
  std::vector<double> stored[3];  ///< of the first l layers, by `Recompute`
  std::vector<double> moment[2];  ///< of each layer beside it while one of its passes runs; with F
                                  ///< again too
};

/// What costs of frames have in common, kept over all frames of a search.
class FrameTables {
 public:
  explicit FrameTables(const Instance& instance);
  LayerSums& sums() { return sums_; }  ///< times and sizes of runs of layers; the object owns them
  /// Seconds of W of the first l layers on the slowest member of a replica like `group`; stays
  /// valid.
  const std::vector<double>& weight_seconds(const ReplicaGroup& group, int tensor_parallel);
  /// Seconds of the optimizer step over the first l layers on a device of the kind; stays valid.
  const std::vector<double>& update_seconds(int kind, int tensor_parallel);
  /// What a member on a device of the kind holds, for micro-batches of so many samples, by the rows
  /// of the profile, or where these do not say it of every layer by the closed form; stays valid.
  const HeldSums& held(int kind, int tensor_parallel, double samples);
  /// A layer of each kind, with how many there are of it.
  const std::vector<std::pair<int, int>>& unlike_layers() const { return unlike_layers_; }

 private:
  const Instance& instance_;
  LayerSums sums_;
  std::map<std::tuple<std::vector<int>, int, double>, std::vector<double>> weights_;
  std::map<std::pair<int, int>, std::vector<double>> updates_;
  std::map<std::tuple<int, int, double>, HeldSums> held_;
  std::vector<std::pair<int, int>> unlike_layers_;
};

}  // namespace pptrain
