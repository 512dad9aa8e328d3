#pragma once

#include <vector>

#include "config/config.hpp"
#include "planners/ask/planner.hpp"
#include "planners/meshes/layout.hpp"

namespace pptrain {

/// The stages of a shape on their devices, and what they share whatever the micro-batch.
class PlacedShape {
 public:
  PlacedShape(const Instance& instance, std::vector<DeviceRows> meshes, ZeroGroup zero_group);

  ZeroGroup zero_group() const { return zero_group_; }  ///< who divides what ZeRO divides
  int num_stages() const { return static_cast<int>(meshes_.size()); }
  const std::vector<DeviceRows>& meshes() const {
    return meshes_;
  }  ///< devices of each stage, a row per replica
  /// Devices of a stage: a row per replica, a column per tensor-parallel member.
  const DeviceRows& mesh(int stage) const { return meshes_[static_cast<std::size_t>(stage)]; }
  /// Replicas of a stage.
  int data(int stage) const { return static_cast<int>(mesh(stage).size()); }
  /// Tensor-parallel degree of a stage: devices of each replica.
  int tensor(int stage) const { return static_cast<int>(mesh(stage).front().size()); }
  int most_data() const;  ///< replicas of the stage that has most
  /// Stages that are alike but for what follows them have one layout.
  int num_layouts() const { return static_cast<int>(layouts_.size()); }
  /// Layout number `index`, from 0 to `num_layouts()` - 1, without links to a next stage.
  const StageLayout& layout(int index) const { return layouts_[static_cast<std::size_t>(index)]; }
  /// Number of the layout of a stage.
  int layout_of(int stage) const { return layout_of_[static_cast<std::size_t>(stage)]; }

 private:
  ZeroGroup zero_group_;
  std::vector<DeviceRows> meshes_;
  std::vector<StageLayout> layouts_;
  std::vector<int> layout_of_;
};

}  // namespace pptrain
