#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "cost/layer_sums.hpp"
#include "planners/published/alpa/submesh.hpp"

namespace pptrain {

/// What a run of layers costs under one division of a mesh.
struct DivisionCost {
  /// Seconds of a run [begin, end): fixed + sums[end] - sums[begin].
  struct Term {
    const std::vector<double>* sums = nullptr;  ///< over the first l layers
    double fixed = 0.0;
    /// Seconds of the run [begin, end).
    double of(int begin, int end) const { return fixed + (*sums)[end] - (*sums)[begin]; }
  };

  const MeshDivision* division = nullptr;
  std::vector<Interval> samples;  ///< of each replica, even
  std::vector<Term> passes;       ///< one micro-batch; the largest counts
  std::vector<Term> reductions;   ///< gradient all-reduce; the largest counts
  int main_pass = 0;              ///< the largest for the whole model: a lower bound that adds up
  int main_reduction = 0;         ///< the largest for the whole model: a lower bound that adds up
  double bytes_per_parameter = 0.0;  ///< weights, gradients and optimizer state on a device

  /// F + B + W of one micro-batch on the slowest replica, in seconds, with what ZeRO stage 3
  /// gathers.
  double pass_seconds(int begin, int end) const { return largest(passes, begin, end); }
  /// Seconds of the gradient all-reduce over the slowest link between replicas.
  double reduction_seconds(int begin, int end) const { return largest(reductions, begin, end); }

 private:
  static double largest(const std::vector<Term>& terms, int begin, int end) {
    double most = 0.0;
    for (const Term& term : terms) most = std::max(most, term.of(begin, end));
    return most;
  }
};

/// Devices of a mesh that need equal memory whatever the divisions of the layers.
struct DeviceClass {
  double memory = 0.0;          ///< bytes, without the workspace that every plan needs
  std::vector<double> samples;  ///< of a micro-batch under each division
};

/// The divisions of a mesh class with one micro-batch size: those that give each replica a sample.
class ShardingCost {
 public:
  ShardingCost(const SearchSpace& space, LayerSums& sums, const MeshClass& mesh,
               std::int64_t micro_batch);
  ShardingCost(const ShardingCost&) = delete;
  ShardingCost& operator=(const ShardingCost&) = delete;

  const MeshClass& mesh() const { return mesh_; }  ///< the class given to the constructor
  /// Divisions that give each replica a sample; 0 where the micro-batch is too small for all.
  int num_divisions() const { return static_cast<int>(divisions_.size()); }
  /// Costs of one of these divisions; d counts them alone, not those of the mesh that are left out.
  const DivisionCost& division(int d) const { return divisions_[d]; }
  /// Devices of the mesh, those that have and need equal memory as one class.
  const std::vector<DeviceClass>& device_classes() const { return device_classes_; }

  /// Bytes of workspace on a device for each sample of a micro-batch.
  double workspace_per_sample() const { return instance_.profile.workspace_bytes_per_sample; }

  /// Seconds in F and B of going from one division to another in front of `layer`.
  double repartition_seconds(int before, int after, int layer) const;
  /// Bytes that a run of layers adds to a device of the class with `in_flight` micro-batches.
  double need(const DeviceClass& device, int division, int begin, int end, double in_flight) const {
    return divisions_[division].bytes_per_parameter * sums_.parameters(begin, end) +
           in_flight * device.samples[division] * sums_.stored_bytes(begin, end, recompute_);
  }
  /// Whether some division of these layers does not fit.
  bool may_lack_memory(int begin, int end, double in_flight) const;

 private:
  void add_division(const SearchSpace& space, LayerSums& sums, const MeshDivision& division,
                    std::int64_t micro_batch);
  void add_passes(DivisionCost& cost, LayerSums& sums);
  std::vector<DivisionCost::Term> reduction_terms(const MeshDivision& division,
                                                  double bytes_per_parameter);
  void find_device_classes(const SearchSpace& space);

  const Instance& instance_;
  const LayerSums& sums_;
  const MeshClass& mesh_;
  Recompute recompute_ = Recompute::none;
  int zero_stage_ = 0;
  std::deque<std::vector<double>> owned_;  // sums that terms point to
  std::vector<DivisionCost> divisions_;
  std::vector<DeviceClass> device_classes_;
  std::vector<std::vector<double>> missing_;  // [before][after]: samples that some device lacks
};

}  // namespace pptrain
