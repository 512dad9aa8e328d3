#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/execute/part_model.hpp"
#include "runtime/execute/repartition.hpp"

namespace pptrain {

/// The layers and parameters that one device holds under a plan: those of each part of its stage, and the exchange of
/// activations between parts. Most stages are one part.
class DeviceModel {
 public:
  DeviceModel(const DeviceContext& device, const Plan& plan, const RankMap& map, const Role& role, RankGroups& groups,
              const LayerFactory& make = make_layer);
  DeviceModel(const DeviceModel&) = delete;
  DeviceModel& operator=(const DeviceModel&) = delete;

  /// The parts of the stage, in the order of the layers.
  const std::vector<std::unique_ptr<PartModel>>& parts() const { return parts_; }
  /// What holds the layers of a chunk, in their order.
  bool has(ChunkId chunk) const { return parts_of_.contains(chunk.value); }
  const std::vector<PartModel*>& parts_of(ChunkId chunk) const { return parts_of_.at(chunk.value); }
  /// The samples of a micro-batch that the first layer of a chunk computes here, and those that the last one does.
  Interval entry_samples(ChunkId chunk) const { return parts_of(chunk).front()->role().samples(); }
  Interval exit_samples(ChunkId chunk) const { return parts_of(chunk).back()->role().samples(); }
  /// Activations from part `index` - 1 to part `index` and gradients back.
  const Repartition& between(int index) const { return between_[static_cast<std::size_t>(index - 1)]; }

  /// The one part of a stage that has no others.
  PartModel& only() const;
  ParameterStore& parameters() { return only().parameters(); }
  const ParameterStore& parameters() const { return only().parameters(); }
  bool counts(const LocalParameter& parameter) const { return only().counts(parameter); }
  ReplicaShards& shards() { return only().shards(); }

  /// Sets every weight, as `ParameterStore::fill` does.
  void fill(const std::function<void(const ParameterSpec&, Interval, float*)>& values);

  /// As those of `PartModel` and `ReplicaShards`, for all parts.
  void gather(ChunkId chunk);
  void release(ChunkId chunk);
  void announce(const Instruction* next);
  void carry();
  void begin(ChunkId chunk, GradientPass pass);
  void reduce(ChunkId chunk);
  void progress();
  void settle();
  Pending& reductions() { return reductions_; }
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
