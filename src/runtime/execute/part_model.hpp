#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "nn/layer.hpp"
#include "optim/optimizer.hpp"
#include "program/program.hpp"
#include "program/ties.hpp"
#include "runtime/execute/replica_shards.hpp"
#include "runtime/places/role.hpp"

namespace pptrain {

/// Makes the module of a layer, as `make_layer` does.
using LayerFactory =
    std::function<std::unique_ptr<LayerModule>(const Layer&, ChunkId, LayerContext&)>;

/// What every part of a device runs on.
struct DeviceContext {
  const Model& model;
  DType type;
  Arena& arena;
  Backend backend;
  Waiter& waiter;
  DType gradient_type = DType::f32;  ///< in which gradients go from replica to replica
  std::vector<Tie> ties = {};        ///< of the model
};

/// The layers and parameters that one device holds of a part of its stage.
class PartModel {
 public:
  PartModel(const DeviceContext& device, const Plan& plan, const PartRole& role, PartGroups& groups,
            const LayerFactory& make);
  PartModel(const PartModel&) = delete;
  PartModel& operator=(const PartModel&) = delete;

  /// Place of this device in the part, with the layers that it has.
  const PartRole& role() const { return role_; }
  /// Weights and gradients that this device holds of the part.
  ParameterStore& parameters() { return store_; }
  const ParameterStore& parameters() const { return store_; }
  /// Modules of a chunk's layers (`ShardedLayer`), in their order. The chunk must be one of the
  /// role's.
  std::vector<std::unique_ptr<LayerModule>>& layers(ChunkId chunk) {
    return chunks_.at(chunk.value);
  }
  /// The number in the model of the first of them.
  std::int64_t first_layer(ChunkId chunk) const;
  /// What the layers of the part run on; they were made with it.
  LayerContext& context() { return context_; }
  /// Sums and gathers between the replicas of the part.
  ReplicaShards& shards() { return shards_; }
  /// Communicators of the part, which outlive this.
  PartGroups& groups() { return groups_; }

  /// Starts bringing the weights of a chunk here; they stay until `release`. Collective over the
  /// replicas.
  void gather(ChunkId chunk);
  /// Lets go of the weights of a chunk that `gather` brought here; one call for each of `gather`.
  void release(ChunkId chunk);
  /// The task that reads weights of this part next, or null. Where layers are gathered one by one,
  /// what it begins with comes, or stays, beside the last layer of the task before.
  void announce(const Instruction* next);

  /// Whether what this device updates of the parameter counts in sums over the model: of a
  /// parameter that tensor parallelism divides always, of a whole one on the first shard, and where
  /// replicas all update everything on the first of them only; of several ZeRO groups in the first.
  /// A tied parameter counts where the first layer that reads it is.
  bool counts(const LocalParameter& parameter) const;
  /// The elements of what this device updates, in the local order of the parameter, that count
  /// there: of units that several members hold (key heads that their query heads share) those of
  /// the first.
  Interval counted(const OwnPart& own) const;
  /// With whom an optimizer's step needs to speak. Its members hold what sums over the model count
  /// once.
  UpdateGroups update_groups();

  /// Index in the store of a tied parameter that this part has, and its unit.
  std::size_t tied_parameter(const Tie& tie) const;
  /// Unit in the store of a tied parameter that this part has.
  std::size_t tied_unit(const Tie& tie) const {
    return store_.parameters()[tied_parameter(tie)].unit;
  }
  /// The units with tied parameters of which another part, of this stage or another one, has a copy
  /// too.
  const std::set<std::size_t>& tied_units() const { return tied_units_; }

 private:
  PartRole role_;
  PartGroups& groups_;
  bool in_first_group_ = true;  ///< of the ZeRO groups of its stage, which all hold the same
  std::set<std::string> later_copies_;  ///< tied parameters that an earlier part has too
  std::set<std::size_t> tied_units_;
  ParameterStore store_;
  ReplicaShards shards_;
  LayerContext context_;
  std::map<int, std::vector<std::unique_ptr<LayerModule>>> chunks_;
  std::map<int, std::set<std::size_t>> units_of_chunk_;  ///< that its layers read
  /// Units that the first layer of a chunk reads, and those that the last one does.
  std::map<int, std::pair<std::vector<std::size_t>, std::vector<std::size_t>>> end_units_;
  bool gathers_chunks_ = false;

  void find_copies(const std::vector<Tie>& ties, const std::vector<TieEnd>& ends);
  void add_chunk(ChunkId chunk, Interval layers, const LayerFactory& make);
  std::vector<std::size_t> units_read(const Layer& layer) const;
  std::int64_t held_before(const LocalParameter& parameter) const;
};

}  // namespace pptrain
