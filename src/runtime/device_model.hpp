#pragma once

#include <map>
#include <memory>
#include <vector>

#include "nn/layer.hpp"
#include "runtime/role.hpp"

namespace pptrain {

/// The layers and parameters that one device holds under a plan.
class DeviceModel {
 public:
  DeviceModel(const Model& model, const Plan& plan, const Role& role, DType type, Arena& arena, Gemm& gemm,
              Communicator& tensor_group);
  DeviceModel(const DeviceModel&) = delete;
  DeviceModel& operator=(const DeviceModel&) = delete;

  ParameterStore& parameters() { return store_; }
  const ParameterStore& parameters() const { return store_; }
  std::vector<std::unique_ptr<LayerModule>>& layers(ChunkId chunk) { return chunks_.at(chunk.value); }
  LayerContext& context() { return context_; }

  /// Whether this device's copy of the parameter counts in sums over the model: a sharded one
  /// always, a whole one on the first shard, and each on the first replica only. A tied embedding
  /// counts where the first layer is.
  bool counts(const LocalParameter& parameter) const;

 private:
  Role role_;
  bool shares_embedding_ = false;  ///< holds the second copy of a tied embedding
  ParameterStore store_;
  LayerContext context_;
  std::map<int, std::vector<std::unique_ptr<LayerModule>>> chunks_;
};

}  // namespace pptrain
