#pragma once

#include <array>
#include <map>
#include <vector>

#include "cost/cost.hpp"
#include "cost/shared_uplinks.hpp"
#include "plan/parts.hpp"
#include "program/program.hpp"
#include "simulate/chunk_bytes.hpp"
#include "simulate/partition.hpp"
#include "simulate/publication.hpp"
#include "simulate/replica_shift.hpp"

namespace pptrain {

/// The tasks that take time of their own.
enum class Phase { forward, backward_input, backward_weight, backward };
inline constexpr int num_phases = 4;

/// Whether an op is a task of training.
bool is_task(Op op);
/// Phase of an op that is a task.
Phase phase_of(Op op);

/// The groups of replicas in which ZeRO gathers weights as tasks need them: those of all stages do
/// when a step begins, and with ZeRO stage 3 all the time.
UplinkShares gathering_groups(const Cluster& cluster, const Plan& plan);

/// Whether the whole chunk is divided as its stage says, so that a replica and a member of the
/// stage have the same numbers in the chunk's mesh.
bool divided_as_stage(const StageParts& parts, const Stage& stage);

/// Seconds of one task on one device.
struct TaskPrice {
  double seconds = 0.0;        ///< from the common start of the group to its common end
  double busy = 0.0;           ///< what the device itself computes
  double communication = 0.0;  ///< collectives of the group, re-partitions, gathered weights
  double first_gather = 0.0;   ///< of the weights of its first layer, where layers are gathered one
                               ///< by one
  double last_layer = 0.0;  ///< seconds of its last layer, beside which the next task's first one
                            ///< is gathered
};

/// A chunk on a device.
struct ChunkPrice {
  std::array<TaskPrice, num_phases> tasks;  ///< by Phase
  ChunkBytes bytes;
  std::array<double, 2> handed_bytes = {};  ///< what its F and its B take over from a chunk of the
                                            ///< same device
  int task_group = -1;          ///< devices that start its tasks together; -1: the device alone
  int reduce_group = -1;        ///< devices that all-reduce its gradients; -1: nothing to reduce
  int across_group = -1;        ///< devices that then sum between groups of replicas; -1: one group
  int gather_group = -1;        ///< devices that gather its weights as an instruction; -1: none do
  double gathered_bytes = 0.0;  ///< of its weights, beside the own slice, while they are gathered
  int num_layers = 0;
  bool gathers_layers = false;  ///< its tasks gather the weights of one layer after another
  double published_end = 0.0;   ///< of its first F at the earliest: the weights come from the step
                                ///< before
  /// What the task of this phase takes for one micro-batch.
  const TaskPrice& task(Phase phase) const { return tasks[static_cast<std::size_t>(phase)]; }
};

/// What a collective sends over an uplink.
struct UplinkBytes {
  Uplink uplink;
  double bytes = 0.0;
};

/// Gradients of a chunk that some programs all-reduce together, or weights that they gather. Those
/// of one lane wait for each other.
struct PricedCollective {
  enum class Kind { gradients, weights };
  Kind kind = Kind::gradients;
  ChunkId chunk;
  std::vector<int> programs;
  double seconds = 0.0;              ///< where nothing else passes its uplinks
  std::vector<UplinkBytes> uplinks;  ///< those that it shares with others; none where the runtime
                                     ///< shares no uplinks
  double stands_for = 1.0;           ///< collectives that do the same elsewhere, itself included
  int lane = 0;
  std::vector<int> behind;  ///< lanes that have to be free too
  // What the buckets of whole gradients take on each device:
  double buffer_bytes = 0.0;     ///< of two that are under way
  double bucket_bytes = 0.0;     ///< of the last one
  bool after_each_task = false;  ///< ZeRO stages 2 and 3 sum after every W
  bool at_end = true;            ///< when the chunk's gradients are complete
};

/// Throws `Error` (exit code 2) when a program splits B and W and the profile does not.
void check_split(const Instance& instance, const Plan& plan, const Programs& programs);

class LayerCosts;

/// What everything in the programs of a plan takes, by the formulas of `cost`.
class Prices {
 public:
  /// Throws `Error` (exit code 2) when a program splits B and W and the profile does not.
  Prices(const Instance& instance, const Plan& plan, const Programs& programs);
  /// The prices for the programs of representatives alone: each stands, in groups and collectives,
  /// for all of its like. Throws `Error` (exit code 2) when a program splits B and W and the
  /// profile does not.
  Prices(const Instance& instance, const Plan& plan, const Programs& programs,
         const ReplicaShift& shift);

  /// The prices of the first program of each class, among themselves.
  Prices of_classes(const SimulatedClasses& classes) const;

  /// Price of a chunk on the device of a program; a default one where another stage has the chunk.
  const ChunkPrice& of(int program, ChunkId chunk) const { return chunks_[index(program, chunk)]; }
  /// Programs that start their tasks together, by the numbers of `ChunkPrice::task_group`.
  const std::vector<std::vector<int>>& task_groups() const { return task_groups_; }
  /// All collectives, gathers of weights among them, by the numbers that `ChunkPrice` has for its
  /// groups.
  const std::vector<PricedCollective>& reductions() const { return reductions_; }
  /// How many lanes there are; `PricedCollective::lane` is 0 to this - 1.
  int num_lanes() const { return num_lanes_; }
  /// Seconds of the optimizer step on the device of a program, offloaded state brought over and
  /// back included.
  double step_seconds(int program) const { return steps_[program]; }
  /// Bytes that the step holds for a moment; 0 where buffers are not counted as they come and go.
  double step_bytes(int program) const { return step_bytes_[program]; }
  /// Model state; where buffers are not counted as they come and go, also the workspace and the
  /// layers that ZeRO holds whole for the time being.
  double fixed_bytes(int program) const { return fixed_bytes_[program]; }
  /// Bytes of the whole gradient of a tied parameter, which replicas that keep slices of it gather
  /// for the exchange of its ends; 0: there is no such exchange at that end.
  double gathered_gradient_bytes(int program, int end) const {
    return gathered_gradient_bytes_[static_cast<std::size_t>(program)]
                                   [static_cast<std::size_t>(end)];
  }
  /// Bytes of the whole gradients of tied parameters, over all ends that a program has.
  double gathered_gradient_bytes(int program) const;
  /// Bytes of the gradient of one row of the tied parameter at an end.
  double tied_row_bytes(int end) const { return tied_row_bytes_[static_cast<std::size_t>(end)]; }
  /// Whether a program's buffers are counted as they come and go.
  bool counts_buffers(int program) const { return counts_buffers_[program] != 0; }
  /// Bytes per sample that cross the cut after a chunk.
  double cut_bytes(ChunkId chunk) const { return cut_bytes_[chunk.index()]; }
  /// Chunks of the whole plan.
  int num_chunks() const { return static_cast<int>(cut_bytes_.size()); }

 private:
  Prices() = default;
  std::size_t index(int program, ChunkId chunk) const {
    return program * cut_bytes_.size() + chunk.index();
  }
  void price_chunk(const Instance& instance, const Plan& plan, ChunkId chunk,
                   const Interval& layers, int stage, const UplinkShares& gathering);
  void price_gathers(const Instance& instance, const Stage& mesh, LayerCosts& layers, int replica,
                     int program, ChunkPrice& price);
  void count_fixed_bytes(const Instance& instance, const Plan& plan, const Programs& programs);
  void count_buffers(const Instance& instance, const Plan& plan, const Programs& programs);
  void count_hand_over(const StageParts& parts, int stage_index, std::int64_t first,
                       std::size_t chunk);
  void price_hand_over(const Instance& instance, const StageParts& parts, int stage_index,
                       std::int64_t first, std::size_t chunk);
  void price_blocking_sends(const Instance& instance, const Plan& plan);
  void group_reductions(const Instance& instance, const Stage& stage, const Interval& layers,
                        int stage_index, ChunkId chunk);
  void group_shards(const Instance& instance, const Stage& stage, double bytes, int stage_index,
                    ChunkId chunk);
  void add_across(const Instance& instance, const Stage& stage, double bytes, int stage_index,
                  int shard, ChunkId chunk);
  std::vector<int> programs_of(const Stage& stage, int stage_index, Interval replicas,
                               int shard) const;
  void group_gathers(const Instance& instance, const Stage& stage, const Interval& layers,
                     int stage_index, ChunkId chunk);

  std::vector<int> first_program_;  // of each stage
  std::vector<int> num_programs_;   // of each stage
  std::vector<int> replicas_;       // of each stage that have programs, the first ones
  std::vector<int> first_lane_;     // of each stage, see `lanes_of`
  std::vector<ChunkPrice> chunks_;
  std::vector<std::vector<int>> task_groups_;
  std::vector<PricedCollective> reductions_;
  int num_lanes_ = 0;
  std::vector<double> steps_;
  std::vector<double> step_bytes_;
  std::map<int, Publication> publications_;  // by the first program of a replica
  std::vector<double> fixed_bytes_;
  std::vector<std::vector<double>> gathered_gradient_bytes_;  // by program and end
  std::vector<double> tied_row_bytes_;                        // by end
  std::vector<char> counts_buffers_;                          // by program
  std::vector<BytesBasis> stage_bytes_;
  std::vector<double> cut_bytes_;
};

}  // namespace pptrain
