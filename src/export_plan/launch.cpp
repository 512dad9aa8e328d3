#include "export_plan/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/names.hpp"

namespace pptrain {
namespace {

/// The host name of a node; "" where the cluster does not say it.
std::string host_of(const Cluster& cluster, int node) {
  const NodeGroup& group = cluster.group_of_node(node);
  int first = 0;
  for (const NodeGroup& other : cluster.groups) {
    if (&other == &group) break;
    first += other.count;
  }
  const auto index = static_cast<std::size_t>(node - first);
  return index < group.hosts.size() ? group.hosts[index] : "";
}

/// Whether the cluster says the host name of every node that is used.
bool knows_hosts(const LaunchOrder& order, const Cluster& cluster) {
  return std::all_of(order.nodes.begin(), order.nodes.end(),
                     [&](int node) { return !host_of(cluster, node).empty(); });
}

int num_kinds(const LaunchOrder& order, const Cluster& cluster) {
  std::set<std::string> kinds;
  for (const int node : order.nodes) kinds.insert(cluster.group_of_node(node).device_kind);
  return static_cast<int>(kinds.size());
}

int most_ranks_of_node(const LaunchOrder& order) {
  std::vector<int> counts(order.nodes.size(), 0);
  for (const ExportRank& rank : order.ranks) ++counts[static_cast<std::size_t>(rank.node)];
  return *std::max_element(counts.begin(), counts.end());
}

/// The shell lines that fill `names` with the hosts: from hosts.txt, or from Slurm where any order
/// will do.
std::string names_text(const LaunchOrder& order, const Cluster& cluster) {
  if (knows_hosts(order, cluster)) return "mapfile -t names < <(cut -f1 \"$here/hosts.txt\")\n";
  if (num_kinds(order, cluster) == 1) {
    return "# All hosts are of one kind, so any order of those that Slurm gives will do.\n"
           "mapfile -t names < <(scontrol show hostnames \"$SLURM_JOB_NODELIST\")\n";
  }
  return "# Hosts are of several kinds: only you know which name has which.\n"
         "if grep -q '^HOST-[0-9]' \"$here/hosts.txt\"; then\n"
         "  echo \"$here/hosts.txt: write the name of a host of the kind in its line in place of "
         "each HOST-N\" >&2\n"
         "  exit 2\n"
         "fi\n"
         "mapfile -t names < <(cut -f1 \"$here/hosts.txt\")\n";
}

std::string nodelist_text(const LaunchOrder& order, const Cluster& cluster) {
  if (!knows_hosts(order, cluster)) return "";
  return "#SBATCH --nodelist=" + join(host_names(order, cluster), ",") + "\n";
}

/// A job's name as Slurm and shells take it without quotes.
std::string plain_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.'; }, '_');
  return name;
}

}  // namespace

LaunchOrder launch_order(const Plan& plan, const Cluster& cluster) {
  LaunchOrder order;
  for (int s = 0; s < plan.num_stages(); ++s) {
    const Stage& stage = plan.stages[static_cast<std::size_t>(s)];
    for (int j = 0; j < stage.replicas; ++j) {
      for (int k = 0; k < stage.tensor_parallel; ++k) {
        const DeviceId device =
            stage.devices[static_cast<std::size_t>(j)][static_cast<std::size_t>(k)];
        const int node = cluster.node_of(device);
        auto place = std::find(order.nodes.begin(), order.nodes.end(), node);
        if (place == order.nodes.end()) place = order.nodes.insert(place, node);
        const int local = device.value - cluster.devices_of_node(node).front().value;
        order.ranks.push_back(
            {static_cast<int>(place - order.nodes.begin()), local, s, j, k, device});
      }
    }
  }
  return order;
}

ExportFile ranks_file(const LaunchOrder& order) {
  std::string text = "rank\tnode\tlocal_rank\tstage\treplica\tmember\tdevice\n";
  for (std::size_t r = 0; r < order.ranks.size(); ++r) {
    const ExportRank& rank = order.ranks[r];
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", r, rank.node, rank.local_rank, rank.stage,
                        rank.replica, rank.member, rank.device.value);
  }
  return {"ranks.tsv", text};
}

std::vector<std::string> host_names(const LaunchOrder& order, const Cluster& cluster) {
  std::vector<std::string> names;
  for (std::size_t n = 0; n < order.nodes.size(); ++n)
    names.push_back(knows_hosts(order, cluster) ? host_of(cluster, order.nodes[n])
                                                : fmt::format("HOST-{}", n));
  return names;
}

ExportFile hosts_file(const LaunchOrder& order, const Cluster& cluster) {
  const std::vector<std::string> names = host_names(order, cluster);
  std::string text;
  for (std::size_t n = 0; n < names.size(); ++n)
    text += fmt::format("{}\t{}\n", names[n], cluster.group_of_node(order.nodes[n]).device_kind);
  return {"hosts.txt", text};
}

std::string sbatch_head(const ExportedPlan& exported, const LaunchOrder& order,
                        const std::string& tasks) {
  const std::string options = fmt::format(
      "#!/bin/bash\n"
      "#SBATCH --job-name={}\n"
      "#SBATCH --nodes={}\n"
      "#SBATCH {}\n"
      "#SBATCH --gpus-per-node={}\n"
      "#SBATCH --exclusive\n",
      plain_name(exported.config.job.name), order.nodes.size(), tasks, most_ranks_of_node(order));
  return options + nodelist_text(order, exported.cluster) +
         "# Submit it from this folder: sbatch job.sbatch. Partition, account and time are yours "
         "to add.\n"
         "set -euo pipefail\n"
         "here=${SLURM_SUBMIT_DIR:-$PWD}\n" +
         names_text(order, exported.cluster);
}

namespace {

ExportFile sbatch_file(const ExportedPlan& exported, const LaunchOrder& order) {
  const std::string start =
      "# Rank r is the task of line r of this file.\n"
      "export SLURM_HOSTFILE=$here/hostfile\n"
      "tail -n +2 \"$here/ranks.tsv\" | while read -r _ node _; do echo \"${names[node]}\"; done "
      ">\"$SLURM_HOSTFILE\"\n"
      "export MASTER_ADDR=${names[0]} MASTER_PORT=${MASTER_PORT:-29500}\n"
      "srun --distribution=arbitrary --ntasks=\"$(wc -l <\"$SLURM_HOSTFILE\")\" --gpu-bind=none "
      "\\\n"
      "  bash \"$here/rank.sh\" \"$@\"\n";
  return {"job.sbatch",
          sbatch_head(exported, order, fmt::format("--ntasks={}", order.ranks.size())) + start};
}

ExportFile rank_script(const std::string& command) {
  return {"rank.sh",
          "#!/bin/bash\n"
          "# One process of the training, as job.sbatch starts it. Another launcher sets RANK and "
          "MASTER_ADDR.\n"
          "set -euo pipefail\n"
          "here=$(cd -- \"$(dirname -- \"${BASH_SOURCE[0]}\")\" && pwd)\n"
          "export RANK=${SLURM_PROCID:-${RANK:?is to be set where srun is not the launcher}}\n"
          "read -r _ _ LOCAL_RANK _ < <(sed -n \"$((RANK + 2))p\" \"$here/ranks.tsv\")\n"
          "export LOCAL_RANK WORLD_SIZE=$(($(wc -l <\"$here/ranks.tsv\") - 1))\n"
          "export MASTER_ADDR MASTER_PORT=${MASTER_PORT:-29500}\n" +
              command};
}

}  // namespace

std::vector<ExportFile> launch_scripts(const ExportedPlan& exported, const LaunchOrder& order,
                                       const std::string& command) {
  return {rank_script(command), ranks_file(order), hosts_file(order, exported.cluster),
          sbatch_file(exported, order)};
}

}  // namespace pptrain
