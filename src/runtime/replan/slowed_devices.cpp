#include "runtime/replan/slowed_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pptrain {
namespace {

class SlowDown {
 public:
  SlowDown(const Cluster& cluster, const Profile& profile,
           const std::map<DeviceId, double>& slowdowns)
      : cluster_(cluster), slowdowns_(slowdowns), result_{cluster, profile} {
    result_.cluster.groups.clear();
  }

  SlowedDevices run() {
    for (int node = 0; node < cluster_.num_nodes(); ++node) add_node(node);
    result_.cluster.finish(cluster_.name);
    return std::move(result_);
  }

 private:
  /// Devices of a node one after another that are of one kind.
  struct Piece {
    std::string kind;
    int num_devices = 0;
  };

  void add_node(int node) {
    std::vector<Piece> pieces;
    for (const DeviceId device : cluster_.devices_of_node(node)) {
      const std::string kind = kind_of(device);
      if (pieces.empty() || pieces.back().kind != kind) pieces.push_back({kind, 0});
      ++pieces.back().num_devices;
    }
    const NodeGroup& whole = cluster_.group_of_node(node);
    std::string switch_name = whole.switch_name;
    if (pieces.size() > 1) {
      switch_name = fmt::format("devices of node {}", node);
      result_.cluster.switches.push_back({switch_name, whole.uplink, whole.switch_name});
    }
    for (const Piece& piece : pieces) {
      NodeGroup group = whole;
      group.count = 1;
      group.device_kind = piece.kind;
      group.num_devices = piece.num_devices;
      group.switch_name = switch_name;
      group.hosts.clear();
      if (pieces.size() > 1) {
        group.uplink = whole.link;
        if (whole.core_pool.empty())
          group.cores =
              (whole.cores * piece.num_devices + whole.num_devices - 1) / whole.num_devices;
      }
      result_.cluster.groups.push_back(group);
    }
  }

  std::string kind_of(DeviceId device) {
    const DeviceKind& kind = cluster_.kind_of(device);
    const auto found = slowdowns_.find(device);
    if (found == slowdowns_.end()) return kind.name;
    const std::string name = fmt::format("{} ({:.2f} x slower)", kind.name, found->second);
    const auto& known = result_.cluster.device_kinds;
    if (std::none_of(known.begin(), known.end(),
                     [&](const DeviceKind& k) { return k.name == name; })) {
      add_kind(kind, name, std::round(100.0 * found->second) / 100.0);
    }
    return name;
  }

  void add_kind(const DeviceKind& kind, const std::string& name, double slowdown) {
    DeviceKind slow = kind;
    slow.name = name;
    for (auto& [precision, rate] : slow.flops) rate /= slowdown;
    result_.cluster.device_kinds.push_back(slow);
    for (ProfileLayer& layer : result_.profile.layers) {
      const std::size_t num_rows = layer.rows.size();
      for (std::size_t i = 0; i < num_rows; ++i) {
        if (layer.rows[i].device != kind.name) continue;
        ProfileRow row = layer.rows[i];
        row.device = name;
        row.seconds.forward *= slowdown;
        row.seconds.backward_input *= slowdown;
        row.seconds.backward_weight *= slowdown;
        layer.rows.push_back(row);
      }
      const auto updates = layer.update_seconds;
      for (const auto& [key, seconds] : updates) {
        if (key.first == kind.name) layer.update_seconds[{name, key.second}] = seconds * slowdown;
      }
    }
  }

  const Cluster& cluster_;
  const std::map<DeviceId, double>& slowdowns_;
  SlowedDevices result_;
};

}  // namespace

SlowedDevices slow_down(const Cluster& cluster, const Profile& profile,
                        const std::map<DeviceId, double>& slowdowns) {
  return SlowDown(cluster, profile, slowdowns).run();
}

}  // namespace pptrain
