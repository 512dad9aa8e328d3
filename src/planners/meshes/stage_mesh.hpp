#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cost/layer_sums.hpp"
#include "planners/ask/planner.hpp"
#include "planners/meshes/load_balance.hpp"

namespace pptrain {

/// Intervals of each tensor-parallel member along each axis, as a plan has them; empty: even.
using Shards = std::map<std::string, std::vector<Interval>>;

/// Devices that a stage can run on, a row per replica, and what its cost depends on.
class StageMesh {
 public:
  /// Rows that take equally long with equal samples: same device kinds, same slowest link.
  struct RowClass {
    struct Member {
      double load = 1.0;  ///< `member_load`
      double memory = 0.0;
    };
    ReplicaGroup group;           ///< `samples` is not set
    std::vector<Member> members;  ///< without those that hold no more than another one in no less
                                  ///< memory
    int num_rows = 0;

    /// Whether rows of both are equally fast and need equal memory; compares all but `num_rows`.
    bool alike(const RowClass& other) const;
    /// The rows as bearers of load, their memory that of the member that is full first: each member
    /// needs `state` bytes times its load, `fixed` ones and so many for each sample.
    LoadClass load_class(double state, double fixed, double per_sample) const;
  };

  StageMesh(const Cluster& cluster, int tensor_parallel, std::vector<DeviceId> devices,
            Sharding sharding = Sharding::profiled, Shards shards = {});

  int replicas() const { return static_cast<int>(row_class_.size()); }  ///< rows
  int tensor_parallel() const { return tensor_parallel_; }              ///< devices of each row
  int num_devices() const { return replicas() * tensor_parallel_; }     ///< devices of all rows
  Sharding sharding() const { return sharding_; }  ///< how the members of a row divide layers
  const std::vector<DeviceId>& devices() const {
    return devices_;
  }  ///< row-major: one replica behind the other
  const std::vector<RowClass>& classes() const {
    return classes_;
  }  ///< distinct rows, indexed by `class_of`
  /// Index into `classes` of a row.
  int class_of(int row) const { return row_class_[row]; }
  const Shards& shards() const {
    return shards_;
  }  ///< intervals of each tensor-parallel member; empty: even ones
  /// Devices that hold the same shard.
  struct ShardGroup {
    Link link;          ///< slowest between two of them
    double load = 1.0;  ///< `member_load`
  };
  /// Groups of the shards that differ.
  const std::vector<ShardGroup>& shard_groups() const { return shard_groups_; }
  /// As a stage with these samples of each replica; its layers are not set.
  Stage stage(const std::vector<Interval>& samples) const;

 private:
  int tensor_parallel_;
  Sharding sharding_;
  std::vector<DeviceId> devices_;  // row-major
  std::vector<RowClass> classes_;
  std::vector<int> row_class_;
  Shards shards_;
  std::vector<ShardGroup> shard_groups_;
};

/// How the samples of a micro-batch are shared out to the replicas of a stage.
enum class Shares {
  even,      ///< as even as whole samples allow, the first replicas one more
  balanced,  ///< so that the slowest replica takes least time with the whole model
};

/// How a stage saves memory, and what that costs.
struct StageOption {
  Recompute recompute = Recompute::none;
  int zero_stage = 0;
  bool offload = false;
  bool offload_activations = false;

  /// Sets recomputation, ZeRO stage and what is offloaded; leaves the rest of the stage as it is.
  void apply_to(Stage& stage) const;
};
/// What may be offloaded, nothing first.
struct OffloadChoice {
  bool states = false;
  bool activations = false;
};
/// Choices of what is offloaded that the restrictions allow; nothing but that where a node has no
/// link to its host's memory.
std::vector<OffloadChoice> offload_choices(const SearchSpace& space);
/// Memory modes that the restrictions allow, with what is offloaded last.
std::vector<StageOption> stage_options(const SearchSpace& space);

/// What a mesh costs with one micro-batch size. Costs any layers in constant time.
class MeshCost {
 public:
  /// `samples`: of each replica, whole, at least one.
  MeshCost(const Instance& instance, LayerSums& sums, const StageMesh& mesh,
           std::vector<Interval> samples, const std::vector<StageOption>& options);
  /// `shares`: of the rows of each class.
  MeshCost(const Instance& instance, LayerSums& sums, const StageMesh& mesh,
           const std::vector<ClassShare>& shares, const std::vector<StageOption>& options);

  const StageMesh& mesh() const { return mesh_; }  ///< the mesh given to the constructor
  /// An interval of the micro-batch for each replica.
  const std::vector<Interval>& samples() const { return samples_; }
  const std::vector<StageOption>& options() const {
    return options_;
  }  ///< options, indexed by `option` below

  /// F + B + W of one micro-batch on the slowest replica; offloaded activations go and come
  /// meanwhile.
  double seconds(int option, int begin, int end) const;
  /// F + B + W of one micro-batch on the replica that is slowest with the whole model: adds up over
  /// the layers, and is never more than `seconds`.
  double least_seconds(int option, int begin, int end) const;
  /// The gradient all-reduce of the slowest shard group.
  double gradient_seconds(int begin, int end) const;
  /// The fastest option with which the layers fit on every device with `in_flight` micro-batches.
  std::optional<int> fitting_option(int begin, int end, double in_flight) const;
  /// Whether more layers than these can fit with some option: memory without activations.
  bool may_fit(int begin, int end) const;

  /// Bytes of weights, gradients and optimizer state of a member whose load is 1.
  double state_bytes(int option, int begin, int end) const;
  /// Bytes that it needs more for each sample.
  double bytes_per_sample(int option, int begin, int end, double in_flight) const;
  /// Weights brought together before F and before B with ZeRO stage 3; 0 below.
  double gather_seconds(int option, int begin, int end) const;

 private:
  /// Replicas that take equally long.
  struct Part {
    std::vector<const PassSums*> times;  // of each option
    std::int64_t samples = 0;
    const StageMesh::RowClass* row_class = nullptr;
  };

  void add_part(LayerSums& sums, int row_class, std::int64_t samples);
  /// Offloaded activations of so many samples, there and back.
  double offload_seconds(int option, int begin, int end, std::int64_t samples) const;
  double offloaded_bytes_per_sample(int begin, int end, Recompute recompute) const;

  const Instance& instance_;
  const LayerSums& sums_;
  const StageMesh& mesh_;
  std::vector<Interval> samples_;
  std::vector<StageOption> options_;
  std::vector<Part> parts_;
};

/// The samples of the rows of each class so that the slowest one takes least time by `seconds`,
/// whatever the memory (Whale's load balance); `micro_batch` holds a sample for each row.
std::vector<ClassShare> shares_by_speed(const StageMesh& mesh, std::int64_t micro_batch,
                                        const LoadSeconds& seconds);
/// Shares as the intervals of each replica.
std::vector<Interval> samples_of(const StageMesh& mesh, const std::vector<ClassShare>& shares);

/// The samples of each replica, or nothing where there are fewer samples than replicas.
std::optional<std::vector<Interval>> shared_samples(LayerSums& sums, const StageMesh& mesh,
                                                    std::int64_t micro_batch, Shares shares);

}  // namespace pptrain
