#include "planners/published/whale/uneven_shards.hpp"

#include <algorithm>
#include <limits>

namespace pptrain {
namespace {

bool of_one_kind(const Cluster& cluster, const std::vector<DeviceId>& devices) {
  const int first = cluster.kind_index_of(devices.front());
  return std::all_of(devices.begin(), devices.end(),
                     [&](DeviceId d) { return cluster.kind_index_of(d) == first; });
}

/// What the devices at one place of all rows have in common: the slowest and the smallest.
struct Column {
  double seconds = 0.0;
  double memory = std::numeric_limits<double>::infinity();
  bool operator==(const Column&) const = default;
};

/// Seconds of one sample of the layers that have rows at this degree.
double seconds_of(const Instance& instance, int kind, int tensor_parallel) {
  const std::string& name = instance.cluster.device_kinds[kind].name;
  double sum = 0.0;
  for (int l = 0; l < instance.profile.num_layers(); ++l) {
    if (const auto seconds = instance.profile.seconds(l, name, tensor_parallel, 1.0))
      sum += seconds->total();
  }
  return sum;
}

std::vector<Column> columns_of(const Instance& instance, int tensor_parallel,
                               const std::vector<DeviceId>& devices) {
  std::vector<double> seconds(instance.cluster.device_kinds.size(), -1.0);  // by kind, where asked
                                                                            // for
  std::vector<Column> columns(tensor_parallel);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const int kind = instance.cluster.kind_index_of(devices[d]);
    if (seconds[kind] < 0.0) seconds[kind] = seconds_of(instance, kind, tensor_parallel);
    Column& column = columns[d % tensor_parallel];
    column.seconds = std::max(column.seconds, seconds[kind]);
    column.memory = std::min(column.memory, instance.cluster.kind_of(devices[d]).memory);
  }
  return columns;
}

/// Members that are alike, and the class of each.
struct Members {
  std::vector<Column> classes;
  std::vector<int> counts;
  std::vector<int> class_of;
};

Members members_of(const std::vector<Column>& columns) {
  Members members;
  for (const Column& column : columns) {
    const auto known = std::find(members.classes.begin(), members.classes.end(), column);
    members.class_of.push_back(static_cast<int>(known - members.classes.begin()));
    if (known == members.classes.end()) {
      members.classes.push_back(column);
      members.counts.push_back(0);
    }
    ++members.counts[members.class_of.back()];
  }
  return members;
}

}  // namespace

double whole_state_bytes(const Profile& profile) {
  const BytesPerParameter& bytes = profile.bytes_per_parameter;
  return (bytes.weight + bytes.gradient + bytes.optimizer) *
         parameters_of(profile, {0, profile.num_layers()});
}

Shards uneven_shards(const Instance& instance, int tensor_parallel,
                     const std::vector<DeviceId>& devices, double state_bytes, bool whole_experts) {
  const Profile& profile = instance.profile;
  if (tensor_parallel == 1 || profile.axes.empty() || of_one_kind(instance.cluster, devices))
    return {};
  const Members members = members_of(columns_of(instance, tensor_parallel, devices));
  const bool alike = std::all_of(
      members.classes.begin(), members.classes.end(),
      [&](const Column& column) { return column.seconds == members.classes[0].seconds; });
  if (alike) return {};
  Shards shards;
  for (const auto& [axis, length] : profile.axes) {
    if (axis == "experts" && (!whole_experts || length < tensor_parallel)) continue;
    if (length < tensor_parallel) return {};
    std::vector<LoadClass> classes;
    for (std::size_t k = 0; k < members.classes.size(); ++k) {
      classes.push_back({members.counts[k], profile.workspace_bytes,
                         state_bytes / static_cast<double>(length), members.classes[k].memory});
    }
    const auto balance = balance_load(classes, length, [&](int k, std::int64_t units) {
      return static_cast<double>(units) * members.classes[k].seconds;
    });
    if (!balance) return {};
    std::int64_t begin = 0;
    for (const std::int64_t units : units_of_devices(balance->shares, members.class_of)) {
      shards[axis].push_back({begin, begin + units});
      begin += units;
    }
  }
  return shards;
}

}  // namespace pptrain
