#include "runtime/places/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "cluster/read.hpp"
#include "cluster/reserve.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "probe/discover.hpp"
#include "probe/rank_hosts.hpp"
#include "profile/from_files.hpp"
#include "runtime/places/gpu_table.hpp"
#include "runtime/places/load_config.hpp"
#include "runtime/places/named_hosts.hpp"
#include "runtime/places/optimizer_check.hpp"
#include "runtime/places/peak_cache.hpp"
#include "runtime/places/waiters.hpp"

namespace pptrain {
namespace {

Machine emulated_or_given(MPI_Comm world, const std::string& path, Cluster cluster) {
  if (cluster.num_devices() != size_of(world)) {
    throw_bad_input({path,
                     fmt::format("{} devices for {} rank{}", cluster.num_devices(), size_of(world),
                                 size_of(world) == 1 ? "" : "s"),
                     "every rank drives one device",
                     fmt::format("start {} ranks; or plan without them, by times that are "
                                 "computed: pptrain plan --analytic",
                                 cluster.num_devices())});
  }
  Machine machine;
  machine.cluster = std::move(cluster);
  machine.map = RankMap::identity(machine.cluster.num_devices());
  return machine;
}

/// By name where the file has names. Every rank comes to the same; rank 0 tells what was taken for
/// granted.
RankMap map_of_hosts(MPI_Comm world, Waiter& waiter, const Cluster& cluster,
                     const std::vector<RankHost>& ranks, const std::string& file) {
  RanksOfDevices match;
  collectively(world, waiter, [&] { match = match_hosts(cluster, ranks, file); });
  if (rank_in(world) == 0 && !match.taken.empty())
    log_warning("{}", describe_taken(match.taken, file));
  return RankMap(match.rank_of_device);
}

/// The names of all hosts, each once, in the order of the ranks.
std::vector<std::string> host_names(const std::vector<RankHost>& ranks) {
  std::vector<std::string> names;
  for (const RankHost& rank : ranks) {
    if (std::find(names.begin(), names.end(), rank.host.name) == names.end())
      names.push_back(rank.host.name);
  }
  return names;
}

}  // namespace

std::string describe_machine(const Machine& machine) {
  const std::string cluster = describe_cluster(machine.cluster);
  return machine.gpus.empty() ? cluster : cluster + "\n" + machine.gpus;
}

std::vector<int> nodes_of_ranks(const Machine& machine) {
  std::vector<int> nodes;
  for (int r = 0; r < machine.map.size(); ++r) {
    nodes.push_back(machine.cluster.node_of(machine.map.device_of(RankId(r))));
  }
  return nodes;
}

RankDevice find_device(MPI_Comm world, Waiter& waiter, const JobOptions& options,
                       const Config& config) {
  const bool emulates = emulation_of(world, waiter, cluster_file(options, config)) != Emulate::no;
  RankDevice device = emulates ? RankDevice() : RankDevice(world, waiter, config);
  collectively(world, waiter, [&] { check_optimizer(config, device); });
  return device;
}

Machine find_machine(MPI_Comm world, Waiter& waiter, const std::string& path,
                     const RankDevice& device) {
  tell_if_interrupted("while measuring the machine: nothing was saved");
  Machine machine;
  if (ClusterConfig::is_discovered(path)) {
    Discovery discovery = discover_cluster(world, waiter, device.probed(), Nvml::usual_name,
                                           [] { return kept_peak_rates(); });
    machine.cluster = std::move(discovery.cluster);
    machine.map = RankMap(discovery.rank_of_device);
    machine.gpus = describe_gpus(discovery.ranks, discovery.neighbours);
    machine.hosts = host_names(discovery.ranks);
  } else {
    std::string text;
    collectively(world, waiter, [&] {
      if (rank_in(world) == 0)
        text = write_cluster(emulated_or_given(world, path, read_cluster(path)).cluster);
    });
    machine = emulated_or_given(world, path, parse_cluster(broadcast(world, text, waiter), path));
    const std::vector<RankHost> ranks = find_rank_hosts(world, waiter, device.probed());
    if (machine.cluster.emulate == Emulate::no)
      machine.map = map_of_hosts(world, waiter, machine.cluster, ranks, path);
    machine.gpus = describe_gpus(ranks, find_gpu_neighbours(world, waiter, ranks));
    machine.hosts = host_names(ranks);
  }
  machine.core_use = found_core_use(world, waiter);
  return machine;
}

Machine find_machine(MPI_Comm world, Waiter& waiter, const JobOptions& options,
                     const Config& config, const RankDevice& device) {
  Machine machine = find_machine(world, waiter, cluster_file(options, config), device);
  set_reserves(machine.cluster, config, options.profile_path);
  return machine;
}

}  // namespace pptrain
