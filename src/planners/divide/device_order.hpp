#pragma once

#include <memory>
#include <string>
#include <vector>

#include "planners/divide/stage_search.hpp"
#include "planners/meshes/degrees.hpp"

namespace pptrain {

/// The devices of a cluster in a row, of which each stage takes some that follow each other.
struct DeviceOrder {
  std::string name;
  std::vector<DeviceId> devices;
};

/// Orders that are worth a search: that of the file, kinds sorted by speed both ways where there
/// are several, those of large memory first, and nodes in turn (a stage then has its replicas on
/// different nodes). Equal ones once.
std::vector<DeviceOrder> device_orders(const Instance& instance);

/// Places in an order where one stage may end and the next begin, with 0 and the end: behind every
/// device of a small cluster; of a larger one at most about `most_places`, behind whole nodes and
/// at changes of the kind.
std::vector<int> cut_places(const Cluster& cluster, const DeviceOrder& order, int most_places);

/// Stages are consecutive segments of an order: the last stage takes its end, the one before it
/// what comes before. Devices at the beginning of the order may stay unused.
class OrderedDevices : public DeviceStates {
 public:
  OrderedDevices(const SearchSpace& space, const DeviceOrder& order, std::vector<int> places);

  const StageMesh& mesh(int index) const override { return *meshes_[index]; }
  int num_meshes() const override { return static_cast<int>(meshes_.size()); }
  const std::vector<StageMove>& moves(int state) override { return moves_[state]; }
  bool complete(int) const override { return true; }
  /// State s leaves the devices before place P - 1 - s, the last place for none used.
  int num_left(int state) const override { return places_[places_.size() - 1 - state]; }

 private:
  void add_segment(const DeviceOrder& order, int begin, int end);

  const SearchSpace& space_;
  Degrees degrees_;
  std::vector<int> places_;
  std::vector<std::unique_ptr<StageMesh>> meshes_;
  std::vector<std::vector<StageMove>> moves_;
};

}  // namespace pptrain
