#include "planners/published/whale/virtual_devices.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace pptrain {
namespace {

using Devices = std::vector<DeviceId>;

void sort_by_memory(const Cluster& cluster, Devices::iterator begin, Devices::iterator end) {
  std::stable_sort(begin, end, [&cluster](DeviceId a, DeviceId b) {
    return cluster.kind_of(a).memory > cluster.kind_of(b).memory;
  });
}

/// Deals the devices out `times` times over: to each TaskGraph in turn `each` times its count.
VirtualDevices dealt(const Devices& devices, const std::vector<int>& counts, int times, int each) {
  VirtualDevices result(counts.size());
  auto next = devices.begin();
  for (int t = 0; t < times; ++t) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto end = next + static_cast<std::ptrdiff_t>(counts[i]) * each;
      result[i].insert(result[i].end(), next, end);
      next = end;
    }
  }
  return result;
}

}  // namespace

std::vector<VirtualDevices> virtual_devices(const Cluster& cluster, const std::vector<int>& counts,
                                            int pipelines) {
  const int pipeline = std::accumulate(counts.begin(), counts.end(), 0);
  PPTRAIN_ASSERT(pipeline * pipelines == cluster.num_devices(), "{} pipelines of {} devices on {}",
                 pipelines, pipeline, cluster.num_devices());
  Devices devices;
  for (int d = 0; d < cluster.num_devices(); ++d) devices.emplace_back(d);
  std::vector<VirtualDevices> all = {dealt(devices, counts, 1, pipelines)};
  const auto add = [&all](VirtualDevices more) {
    if (std::find(all.begin(), all.end(), more) == all.end()) all.push_back(std::move(more));
  };
  Devices by_memory = devices;
  sort_by_memory(cluster, by_memory.begin(), by_memory.end());
  add(dealt(by_memory, counts, 1, pipelines));
  for (auto begin = devices.begin(); begin != devices.end(); begin += pipeline) {
    sort_by_memory(cluster, begin, begin + pipeline);
  }
  add(dealt(devices, counts, pipelines, 1));
  return all;
}

}  // namespace pptrain
