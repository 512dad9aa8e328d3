#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/execute/part_model.hpp"
#include "runtime/execute/repartition.hpp"

namespace pptrain {

/// The layers and parameters that one device holds under a plan: those of each part of its stage,
/// and the exchange of activations between parts. Most stages are one part.
class DeviceModel {
 public:
  DeviceModel(const DeviceContext& device, const Plan& plan, const RankMap& map, const Role& role,
              RankGroups& groups, const LayerFactory& make = make_layer);
  DeviceModel(const DeviceModel&) = delete;
  DeviceModel& operator=(const DeviceModel&) = delete;

  /// The parts of the stage, in the order of the layers.
  const std::vector<std::unique_ptr<PartModel>>& parts() const { return parts_; }
  /// Whether the device has layers of a chunk.
  bool has(ChunkId chunk) const { return parts_of_.contains(chunk.value); }
  /// Parts with layers of a chunk, in the order of the layers. The chunk must be here (`has`).
  const std::vector<PartModel*>& parts_of(ChunkId chunk) const { return parts_of_.at(chunk.value); }
  /// Samples of a micro-batch that the first layer of a chunk computes here.
  Interval entry_samples(ChunkId chunk) const { return parts_of(chunk).front()->role().samples(); }
  /// Samples of a micro-batch that the last layer of a chunk computes here.
  Interval exit_samples(ChunkId chunk) const { return parts_of(chunk).back()->role().samples(); }
  /// Activations from part `index` - 1 to part `index` and gradients back.
  const Repartition& between(int index) const {
    return between_[static_cast<std::size_t>(index - 1)];
  }

  /// The one part of a stage that has no others.
  PartModel& only() const;
  /// Weights and gradients of the only part; where the stage has several this aborts, as do the
  /// three below.
  ParameterStore& parameters() { return only().parameters(); }
  const ParameterStore& parameters() const { return only().parameters(); }
  /// Whether what this device updates of a parameter counts in sums over the model
  /// (`PartModel::counts`).
  bool counts(const LocalParameter& parameter) const { return only().counts(parameter); }
  /// Sums and gathers between the replicas of the only part.
  ReplicaShards& shards() { return only().shards(); }

  /// Sets every weight, as `ParameterStore::fill` does.
  void fill(const std::function<void(const ParameterSpec&, Interval, float*)>& values);

  /// As those of `PartModel` and `ReplicaShards`, for all parts.
  void gather(ChunkId chunk);
  /// Lets go of the weights of a chunk that `gather` brought here.
  void release(ChunkId chunk);
  /// Tells the parts which task reads weights next (null: none), so that what it begins with can
  /// come before it.
  void announce(const Instruction* next);
  /// Starts bringing the weights that the announced task begins with, or keeps them. Collective
  /// over the replicas.
  void carry();
  /// Says what the backward pass of a chunk that comes does to its gradients; `reduce` sets that
  /// back to `adds`.
  void begin(ChunkId chunk, GradientPass pass);
  /// Starts summing what is not yet summed of a chunk's complete gradients; `reductions` says when
  /// that has ended. Collective over the replicas.
  void reduce(ChunkId chunk);
  /// Moves on sums and gathers that are under way; never blocks.
  void progress();
  /// Waits until the weights that replicas published after the optimizer step are whole here.
  void settle();
  /// Ends when all sums of gradients that were started have ended, in every part. Lives as long as
  /// this.
  Pending& reductions() { return reductions_; }
  /// Lets go of the buffers that sums which have ended still hold.
  void drop_summed();

  /// Gathers of chunks since the start.
  std::int64_t num_chunk_gathers() const { return num_chunk_gathers_; }

 private:
  /// The sums of all parts.
  class Reductions final : public Pending {
   public:
    explicit Reductions(const DeviceModel& device) : device_(device) {}
    bool test() override { return advance(&Pending::test); }
    bool join() override { return advance(&Pending::join); }
    std::string missing() const override;

   private:
    bool advance(bool (Pending::*ended)());

    const DeviceModel& device_;
  };

  std::vector<std::unique_ptr<PartModel>> parts_;
  std::map<int, std::vector<PartModel*>> parts_of_;  // by chunk
  std::vector<Repartition> between_;
  Reductions reductions_{*this};
  std::int64_t num_chunk_gathers_ = 0;
};

}  // namespace pptrain
