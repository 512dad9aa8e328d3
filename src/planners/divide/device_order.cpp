#include "planners/divide/device_order.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace pptrain {
namespace {

std::vector<DeviceId> all_devices(const Cluster& cluster) {
  std::vector<DeviceId> devices;
  for (int d = 0; d < cluster.num_devices(); ++d) devices.emplace_back(d);
  return devices;
}

/// Seconds of one sample through the whole model on each kind; 0 for kinds without nodes.
std::vector<double> seconds_of_kinds(const Instance& instance) {
  std::vector<double> seconds(instance.cluster.device_kinds.size(), 0.0);
  for (std::size_t kind = 0; kind < seconds.size(); ++kind) {
    const std::string& name = instance.cluster.device_kinds[kind].name;
    for (int l = 0; l < instance.profile.num_layers(); ++l) {
      if (const auto layer = instance.profile.seconds(l, name, 1, 1.0))
        seconds[kind] += layer->total();
    }
  }
  return seconds;
}

/// First devices of all nodes, then their second ones, and so on.
std::vector<DeviceId> nodes_in_turn(const Cluster& cluster) {
  std::map<std::pair<int, int>, DeviceId> by_place;
  for (int node = 0; node < cluster.num_nodes(); ++node) {
    int place = 0;
    for (const DeviceId device : cluster.devices_of_node(node)) by_place[{place++, node}] = device;
  }
  std::vector<DeviceId> devices;
  for (const auto& [place, device] : by_place) devices.push_back(device);
  return devices;
}

bool is_tensor_parallel_row(const Cluster& cluster, const std::vector<DeviceId>& devices,
                            std::size_t begin, int n) {
  const int node = cluster.node_of(devices[begin]);
  for (int k = 1; k < n; ++k) {
    if (cluster.node_of(devices[begin + k]) != node) return false;
  }
  return true;
}

int largest_node(const Cluster& cluster) {
  int largest = 0;
  for (const NodeGroup& group : cluster.groups) largest = std::max(largest, group.num_devices);
  return largest;
}

}  // namespace

std::vector<DeviceOrder> device_orders(const Instance& instance) {
  const Cluster& cluster = instance.cluster;
  std::vector<DeviceOrder> orders = {{"file", all_devices(cluster)}};
  const auto add = [&orders](std::string name, std::vector<DeviceId> devices) {
    const bool known = std::any_of(orders.begin(), orders.end(),
                                   [&](const DeviceOrder& o) { return o.devices == devices; });
    if (!known) orders.push_back({std::move(name), std::move(devices)});
  };
  const std::vector<double> seconds = seconds_of_kinds(instance);
  const auto slower = [&](DeviceId a, DeviceId b) {
    return seconds[cluster.kind_index_of(a)] > seconds[cluster.kind_index_of(b)];
  };
  std::vector<DeviceId> sorted = all_devices(cluster);
  std::stable_sort(sorted.begin(), sorted.end(), slower);
  add("slow kinds first", sorted);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](DeviceId a, DeviceId b) { return slower(b, a); });
  add("fast kinds first", sorted);
  const auto larger = [&cluster](DeviceId a, DeviceId b) {
    return cluster.kind_of(a).memory > cluster.kind_of(b).memory;
  };
  sorted = all_devices(cluster);
  std::stable_sort(sorted.begin(), sorted.end(), larger);
  add("large memory first", sorted);  // early stages hold the most micro-batches (Whale 3.3.2)
  add("nodes in turn", nodes_in_turn(cluster));
  return orders;
}

std::vector<int> cut_places(const Cluster& cluster, const DeviceOrder& order, int most_places) {
  const int num_devices = cluster.num_devices();
  std::vector<int> places;
  if (num_devices <= most_places) {
    for (int place = 0; place <= num_devices; ++place) places.push_back(place);
    return places;
  }
  const int step = (num_devices + most_places - 1) / most_places;
  places.push_back(0);
  for (int place = 1; place < num_devices; ++place) {
    const DeviceId before = order.devices[place - 1];
    const DeviceId after = order.devices[place];
    const bool new_kind = cluster.kind_index_of(before) != cluster.kind_index_of(after);
    const bool new_node = cluster.node_of(before) != cluster.node_of(after);
    const int size = cluster.group_of_node(cluster.node_of(before)).num_devices;
    const bool inside =
        step < size && size % step == 0 && (place - places.back()) >= step && place % step == 0;
    if (new_kind || ((new_node || inside) && place - places.back() >= step))
      places.push_back(place);
  }
  places.push_back(num_devices);
  return places;
}

OrderedDevices::OrderedDevices(const SearchSpace& space, const DeviceOrder& order,
                               std::vector<int> places)
    : space_(space), degrees_(space.instance), places_(std::move(places)) {
  const int last = static_cast<int>(places_.size()) - 1;
  for (int end = last; end >= 0; --end) {
    moves_.emplace_back();
    for (int begin = end - 1; begin >= 0; --begin) add_segment(order, begin, end);
  }
}

void OrderedDevices::add_segment(const DeviceOrder& order, int begin, int end) {
  constexpr int largest_unrestricted = 8;  // places; longer segments: powers of two, or all that is
                                           // left
  const int length = end - begin;
  if (length > largest_unrestricted && begin > 0 && (length & (length - 1)) != 0) return;
  const Cluster& cluster = space_.instance.cluster;
  const std::vector<DeviceId> devices(order.devices.begin() + places_[begin],
                                      order.devices.begin() + places_[end]);
  const int num_devices = static_cast<int>(devices.size());
  const int state_after = static_cast<int>(places_.size()) - 1 - begin;
  for (int n = 1; n <= std::min(num_devices, largest_node(cluster)); ++n) {
    if (num_devices % n != 0) continue;
    const auto row_fits = [&](int j) {
      const std::size_t first = static_cast<std::size_t>(j) * n;
      return is_tensor_parallel_row(cluster, devices, first, n) &&
             degrees_.has(cluster.kind_index_of(devices[first]), n);
    };
    bool fits = true;
    for (int j = 0; fits && j < num_devices / n; ++j) fits = row_fits(j);
    if (!fits) continue;
    moves_.back().push_back({num_meshes(), state_after});
    meshes_.push_back(std::make_unique<StageMesh>(cluster, n, devices));
  }
}

}  // namespace pptrain
