#include "planners/meshes/placement.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// Nodes of a run that give equally many devices.
struct Piece {
  DeviceUse::Run run;
  bool fresh = false;
  int taken = 0;  ///< of each node
  int left() const { return run.free() - taken; }
};

/// What a policy takes, on runs that are cut into pieces where their nodes do not give equally
/// many.
class Taking {
 public:
  Taking(const std::vector<DeviceUse::Run>& runs, int num_devices) : missing_(num_devices) {
    for (const DeviceUse::Run& run : runs) pieces_.push_back({run, run.used == 0, 0});
  }

  /// All that is left of one node after the other, of those that were fresh or of the others.
  void fill(bool fresh) {
    for (std::size_t i = 0; i < pieces_.size() && missing_ > 0; ++i) {
      if (pieces_[i].fresh != fresh || pieces_[i].left() == 0) continue;
      const int each = std::min(pieces_[i].left(), missing_);
      give(i, missing_ / each, each);
    }
  }

  /// One device of each node in turn.
  void scatter(bool fresh) {
    while (missing_ > 0) {
      int num_nodes = 0;
      int least = std::numeric_limits<int>::max();
      for (const Piece& piece : pieces_) {
        if (piece.fresh != fresh || piece.left() == 0) continue;
        num_nodes += piece.run.num_nodes;
        least = std::min(least, piece.left());
      }
      if (num_nodes == 0) return;
      const int each = std::clamp(missing_ / num_nodes, 1, least);
      for (std::size_t i = 0; i < pieces_.size() && missing_ > 0; ++i) {
        if (pieces_[i].fresh == fresh && pieces_[i].left() > 0) give(i, missing_ / each, each);
      }
    }
  }

  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  /// `each` more of the first `num_nodes` nodes of a piece, or of all where there are no more.
  void give(std::size_t i, int num_nodes, int each) {
    const Piece all = pieces_[i];
    pieces_[i].run.num_nodes = std::min(num_nodes, all.run.num_nodes);
    pieces_[i].taken += each;
    missing_ -= pieces_[i].run.num_nodes * each;
    if (pieces_[i].run.num_nodes == all.run.num_nodes) return;
    Piece rest = all;
    rest.run.num_nodes -= pieces_[i].run.num_nodes;
    pieces_.insert(pieces_.begin() + static_cast<std::ptrdiff_t>(i) + 1, rest);
  }

  std::vector<Piece> pieces_;
  int missing_;
};

void append(std::vector<DeviceUse::Run>& runs, const DeviceUse::Run& run) {
  if (!runs.empty() && runs.back().group == run.group && runs.back().used == run.used) {
    runs.back().num_nodes += run.num_nodes;
  } else {
    runs.push_back(run);
  }
}

}  // namespace

DeviceUse::DeviceUse(const Cluster& cluster) : num_free_(cluster.num_devices()) {
  for (int g = 0; g < static_cast<int>(cluster.groups.size()); ++g) {
    append(runs_, {g, cluster.groups[g].count, 0, cluster.groups[g].num_devices});
  }
}

std::vector<TakenDevices> DeviceUse::take(PlacementPolicy policy, int num_devices) {
  PPTRAIN_ASSERT(num_devices >= 1 && num_devices <= num_free_, "{} devices of {}", num_devices,
                 num_free_);
  Taking taking(runs_, num_devices);
  for (const bool fresh :
       {policy == PlacementPolicy::fresh_first, policy != PlacementPolicy::fresh_first}) {
    if (policy == PlacementPolicy::scatter_first) {
      taking.scatter(fresh);
    } else {
      taking.fill(fresh);
    }
  }
  num_free_ -= num_devices;
  runs_.clear();
  std::vector<TakenDevices> taken;
  int node = 0;
  for (const Piece& piece : taking.pieces()) {
    if (piece.taken > 0) taken.push_back({node, piece.run.num_nodes, piece.run.used, piece.taken});
    node += piece.run.num_nodes;
    DeviceUse::Run run = piece.run;
    run.used += piece.taken;
    append(runs_, run);
  }
  return taken;
}

std::vector<DeviceId> device_ids(const Cluster& cluster, const std::vector<TakenDevices>& taken) {
  std::vector<DeviceId> devices;
  for (const TakenDevices& some : taken) {
    for (int node = some.node; node < some.node + some.num_nodes; ++node) {
      const std::vector<DeviceId> all = cluster.devices_of_node(node);
      devices.insert(devices.end(), all.begin() + some.first,
                     all.begin() + some.first + some.count);
    }
  }
  return devices;
}

int num_devices(const std::vector<TakenDevices>& taken) {
  int sum = 0;
  for (const TakenDevices& some : taken) sum += some.num_nodes * some.count;
  return sum;
}

}  // namespace pptrain
