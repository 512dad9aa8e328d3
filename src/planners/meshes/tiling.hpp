#pragma once

#include <optional>
#include <vector>

#include "planners/meshes/draws.hpp"
#include "planners/meshes/layout.hpp"

namespace pptrain {

/// The devices of a cluster as a 2D mesh: a column per node, a row per place within a node. Where
/// nodes have fewer devices than others the lower rows have gaps. Nodes under one switch lie next
/// to each other, among them those with equally fast uplinks, among them those of one kind.
class DeviceMesh {
 public:
  explicit DeviceMesh(const Cluster& cluster);

  int num_rows() const { return num_rows_; }  ///< devices of the largest node
  int num_columns() const { return static_cast<int>(columns_.size()); }  ///< nodes of the cluster
  /// Whether the node of the column has a device in this row.
  bool has(int row, int column) const { return row < columns_[column].num_devices; }
  /// The device there, where `has` is true.
  DeviceId device(int row, int column) const {
    return DeviceId(columns_[column].first_device + row);
  }

 private:
  struct Column {
    int first_device = 0;
    int num_devices = 0;
    const NodeGroup* group = nullptr;
  };

  int num_rows_ = 0;
  std::vector<Column> columns_;
};

/// How the devices of a rectangle form tensor-parallel groups of neighbours.
enum class GroupDirection {
  down,   ///< column after column: within a node where they can
  across  ///< row after row: over nodes
};

/// A rectangle of the mesh that holds one stage (AMP, section 6.3).
struct Domino {
  int row = 0;
  int column = 0;
  int height = 1;
  int width = 1;
  GroupDirection direction = GroupDirection::down;
};

/// A random tiling of the mesh with dominoes of data x tensor devices, in the order in which a scan
/// of the columns meets them. A domino has any height and width of that area in which
/// tensor-parallel groups are straight (AMP's dominoes are tensor x data, upright or lying), or
/// whole columns or rows. Nothing when none was found within a number of steps in proportion to the
/// devices.
std::optional<std::vector<Domino>> sample_tiling(const DeviceMesh& mesh, int data, int tensor,
                                                 Draws& draws);

/// The devices of a domino: a row per replica, a column per tensor-parallel member.
DeviceRows devices_of(const DeviceMesh& mesh, const Domino& domino, int tensor);

}  // namespace pptrain
