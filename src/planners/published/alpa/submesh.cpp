#include "planners/published/alpa/submesh.hpp"

#include <algorithm>
#include <set>

namespace pptrain {
namespace {

constexpr int most_units = 32;

std::vector<DeviceId> devices_between(int begin, int end, int step = 1) {
  std::vector<DeviceId> devices;
  for (int d = begin; d < end; d += step) devices.emplace_back(d);
  return devices;
}

template <class T, class Equal>
int index_of(std::vector<T>& distinct, const T& value, const Equal& equal) {
  const auto known = std::find_if(distinct.begin(), distinct.end(),
                                  [&](const T& other) { return equal(other, value); });
  if (known == distinct.end()) {
    distinct.push_back(value);
    return static_cast<int>(distinct.size()) - 1;
  }
  return static_cast<int>(known - distinct.begin());
}

/// First devices of the units that sub-meshes consist of, and the end: nodes, or, of a large
/// cluster, as many equal neighbours together as leave about `most_units` units.
std::vector<int> unit_begins(const Cluster& cluster) {
  const int nodes_per_unit = (cluster.num_nodes() + most_units - 1) / most_units;
  std::vector<int> begins = {0};
  for (int node = 1, num_nodes = 1; node < cluster.num_nodes(); ++node, ++num_nodes) {
    const bool new_group = &cluster.group_of_node(node) != &cluster.group_of_node(node - 1);
    if (!new_group && num_nodes < nodes_per_unit) continue;
    begins.push_back(cluster.devices_of_node(node).front().value);
    num_nodes = 0;
  }
  begins.push_back(cluster.num_devices());
  return begins;
}

}  // namespace

SubMeshes::SubMeshes(const SearchSpace& space)
    : space_(space), degrees_(space.instance.profile.degrees()) {
  const Cluster& cluster = space.instance.cluster;
  for (const DeviceKind& kind : cluster.device_kinds) {
    double seconds = 0.0;
    for (int l = 0; l < space.instance.profile.num_layers(); ++l) {
      if (const auto layer = space.instance.profile.seconds(l, kind.name, 1, 1.0))
        seconds += layer->total();
    }
    speeds_.push_back(seconds > 0.0 ? 1.0 / seconds : 1.0);
  }
  from_.resize(cluster.num_devices() + 1);
  between_nodes_.resize(cluster.num_devices() + 1, false);
  const std::vector<int> begins = unit_begins(cluster);
  for (const int begin : begins) between_nodes_[begin] = true;
  for (auto first = begins.begin(); first + 1 != begins.end(); ++first) {
    if (cluster.num_nodes() <= most_units) add_parts(*first, *(first + 1));
    ClassKey nodes;
    for (auto end = first + 1; end != begins.end(); ++end) {
      const int group = cluster.group_of(DeviceId(*(end - 1)));
      if (nodes.empty() || nodes.back().first != group) nodes.emplace_back(group, 0);
      nodes.back().second += *end - *(end - 1);
      add(*first, *end, nodes);
    }
  }
  double total = 0.0;
  for (int d = 0; d < cluster.num_devices(); ++d)
    total += speeds_[cluster.kind_index_of(DeviceId(d))];
  for (MeshClass& mesh : classes_) {
    for (const int kind : mesh.device_kinds) mesh.share += speeds_[kind] / total;
  }
}

/// Sub-meshes of 2^k devices of one node.
void SubMeshes::add_parts(int node_begin, int node_end) {
  const int group = space_.instance.cluster.group_of(DeviceId(node_begin));
  for (int begin = node_begin; begin < node_end; ++begin) {
    for (int size = 1; begin + size <= node_end && size < node_end - node_begin; size *= 2) {
      add(begin, begin + size, {{group, -size}});
    }
  }
}

void SubMeshes::add(int begin, int end, const ClassKey& key) {
  const auto [entry, is_new] = known_.try_emplace(key, -1);
  if (is_new) {
    MeshClass made = make_class(begin, end);
    if (!made.divisions.empty()) {
      entry->second = static_cast<int>(classes_.size());
      classes_.push_back(std::move(made));
    }
  }
  if (entry->second >= 0) from_[begin].push_back({end, entry->second});
}

MeshClass SubMeshes::make_class(int begin, int end) const {
  const Instance& instance = space_.instance;
  MeshClass made;
  std::set<int> kinds;
  for (int d = begin; d < end; ++d) {
    made.device_kinds.push_back(instance.cluster.kind_index_of(DeviceId(d)));
    kinds.insert(made.device_kinds.back());
  }
  made.slowest = instance.cluster.slowest_link(devices_between(begin, end));
  for (const int degree : degrees_) {
    const int replicas = (end - begin) / degree;
    const auto& fixed = space_.restrictions;
    if (replicas * degree != end - begin || replicas > instance.global_batch_size) continue;
    if ((fixed.data && *fixed.data != replicas) || (fixed.tensor && *fixed.tensor != degree))
      continue;
    const bool has_rows = std::all_of(kinds.begin(), kinds.end(), [&](int kind) {
      return instance.profile.has_degree(instance.cluster.device_kinds[kind].name, degree);
    });
    if (has_rows) made.divisions.push_back(divide(begin, end, degree));
  }
  return made;
}

MeshDivision SubMeshes::divide(int begin, int end, int tensor_parallel) const {
  const Cluster& cluster = space_.instance.cluster;
  MeshDivision division;
  division.replicas = (end - begin) / tensor_parallel;
  division.tensor_parallel = tensor_parallel;
  std::map<int, int> known;       // rows inside one node, by node group
  bool columns_are_alike = true;  // every shard has as many replicas on each node
  for (int first = begin; first < end; first += tensor_parallel) {
    const int last = first + tensor_parallel - 1;
    const int group = cluster.group_of(DeviceId(first));
    const bool in_one_node = cluster.node_of(DeviceId(first)) == cluster.node_of(DeviceId(last));
    columns_are_alike = columns_are_alike && in_one_node;
    if (const auto found = known.find(group); in_one_node && found != known.end()) {
      division.row_kind.push_back(found->second);
      continue;
    }
    const std::vector<DeviceId> row = devices_between(first, last + 1);
    ReplicaGroup kind;
    for (const DeviceId device : row) kind.kinds.push_back(cluster.kind_index_of(device));
    std::sort(kind.kinds.begin(), kind.kinds.end());
    kind.kinds.erase(std::unique(kind.kinds.begin(), kind.kinds.end()), kind.kinds.end());
    kind.link = cluster.slowest_link(row);
    division.row_kind.push_back(index_of(division.row_kinds, kind, std::equal_to<>()));
    if (in_one_node) known.emplace(group, division.row_kind.back());
  }
  for (int shard = 0; shard < (columns_are_alike ? 1 : tensor_parallel); ++shard) {
    index_of(division.replica_links,
             cluster.slowest_link(devices_between(begin + shard, end, tensor_parallel)),
             [](const Link& a, const Link& b) {
               return a.bandwidth == b.bandwidth && a.latency == b.latency;
             });
  }
  return division;
}

}  // namespace pptrain
