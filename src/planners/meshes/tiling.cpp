#include "planners/meshes/tiling.hpp"

#include <algorithm>
#include <tuple>

namespace pptrain {
namespace {

/// Groups along lines of `length`: straight parts of a line, or whole lines.
bool are_straight(int tensor, int length) { return length % tensor == 0 || tensor % length == 0; }

/// The kinds of dominoes for a number of devices.
std::vector<Domino> dominoes_of(const DeviceMesh& mesh, int data, int tensor) {
  std::vector<Domino> dominoes;
  const int area = data * tensor;
  for (int height = 1; height <= std::min(area, mesh.num_rows()); ++height) {
    const int width = area / height;
    if (area % height != 0 || width > mesh.num_columns()) continue;
    if (are_straight(tensor, height))
      dominoes.push_back({0, 0, height, width, GroupDirection::down});
    // With one device per group both directions say the same up to the order of replicas.
    if (tensor > 1 && are_straight(tensor, width))
      dominoes.push_back({0, 0, height, width, GroupDirection::across});
  }
  return dominoes;
}

/// Tiles cell by cell, column after column, and goes back where no domino fits.
class Tiler {
 public:
  Tiler(const DeviceMesh& mesh, std::vector<Domino> kinds, Draws& draws)
      : mesh_(mesh),
        kinds_(std::move(kinds)),
        draws_(draws),
        covered_(static_cast<std::size_t>(mesh.num_rows()) * mesh.num_columns()) {
    for (int column = 0; column < mesh.num_columns(); ++column) {
      for (int row = 0; row < mesh.num_rows(); ++row)
        covered_[cell(row, column)] = !mesh.has(row, column);
    }
  }

  std::optional<std::vector<Domino>> tile() {
    const std::size_t most_steps = 8 * covered_.size();
    std::size_t next = next_gap(0);
    std::vector<std::vector<Domino>> choices = {choices_at(next)};
    for (std::size_t step = 0; step < most_steps; ++step) {
      if (next == covered_.size()) return placed_;
      if (!choices.back().empty()) {
        placed_.push_back(choices.back().back());
        choices.back().pop_back();
        cover(placed_.back(), true);
        next = next_gap(next);
        choices.push_back(choices_at(next));
        continue;
      }
      choices.pop_back();
      if (placed_.empty()) return std::nullopt;
      next = cell(placed_.back().row, placed_.back().column);
      cover(placed_.back(), false);
      placed_.pop_back();
    }
    return std::nullopt;
  }

 private:
  std::size_t cell(int row, int column) const {
    return static_cast<std::size_t>(column) * mesh_.num_rows() + row;
  }

  std::size_t next_gap(std::size_t from) const {
    while (from < covered_.size() && covered_[from]) ++from;
    return from;
  }

  bool fits(const Domino& domino) const {
    if (domino.row + domino.height > mesh_.num_rows() ||
        domino.column + domino.width > mesh_.num_columns())
      return false;
    for (int column = domino.column; column < domino.column + domino.width; ++column) {
      for (int row = domino.row; row < domino.row + domino.height; ++row) {
        if (covered_[cell(row, column)]) return false;
      }
    }
    return true;
  }

  void cover(const Domino& domino, bool is_covered) {
    for (int column = domino.column; column < domino.column + domino.width; ++column) {
      for (int row = domino.row; row < domino.row + domino.height; ++row)
        covered_[cell(row, column)] = is_covered;
    }
  }

  /// Dominoes that fit with their first corner in this cell, in random order.
  std::vector<Domino> choices_at(std::size_t at) {
    std::vector<Domino> choices;
    if (at == covered_.size()) return choices;
    for (Domino domino : kinds_) {
      domino.row = static_cast<int>(at % mesh_.num_rows());
      domino.column = static_cast<int>(at / mesh_.num_rows());
      if (fits(domino)) choices.insert(choices.begin() + draws_.below(choices.size() + 1), domino);
    }
    return choices;
  }

  const DeviceMesh& mesh_;
  std::vector<Domino> kinds_;
  Draws& draws_;
  std::vector<bool> covered_;  // column after column
  std::vector<Domino> placed_;
};

}  // namespace

DeviceMesh::DeviceMesh(const Cluster& cluster) {
  int device = 0;
  for (const NodeGroup& group : cluster.groups) {
    num_rows_ = std::max(num_rows_, group.num_devices);
    for (int node = 0; node < group.count; ++node) {
      columns_.push_back({device, group.num_devices, &group});
      device += group.num_devices;
    }
  }
  std::stable_sort(columns_.begin(), columns_.end(), [](const Column& a, const Column& b) {
    return std::tie(a.group->switch_name, a.group->uplink.bandwidth, a.group->device_kind) <
           std::tie(b.group->switch_name, b.group->uplink.bandwidth, b.group->device_kind);
  });
}

std::optional<std::vector<Domino>> sample_tiling(const DeviceMesh& mesh, int data, int tensor,
                                                 Draws& draws) {
  return Tiler(mesh, dominoes_of(mesh, data, tensor), draws).tile();
}

DeviceRows devices_of(const DeviceMesh& mesh, const Domino& domino, int tensor) {
  const bool down = domino.direction == GroupDirection::down;
  const int line = down ? domino.height : domino.width;
  DeviceRows devices;
  for (int i = 0; i < domino.height * domino.width; ++i) {
    if (i % tensor == 0) devices.emplace_back();
    const int along = i % line;
    const int beside = i / line;
    devices.back().push_back(
        mesh.device(domino.row + (down ? along : beside), domino.column + (down ? beside : along)));
  }
  return devices;
}

}  // namespace pptrain
