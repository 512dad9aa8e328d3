#include <algorithm>
#include <numeric>
#include <set>

#include "planners/reference/cost.hpp"
#include "planners/reference/divisions.hpp"
#include "planners/reference/spaces.hpp"

namespace pptrain::reference {

namespace {

using Devices = std::vector<DeviceId>;

/// Device assignment of the DAPPLE paper, section IV-B.
enum class Policy { fresh_first, append_first, scatter_first };

/// The free devices of each machine, and how many it has in all.
struct Machines {
  std::vector<Devices> free;
  std::vector<std::size_t> size;

  bool fresh(std::size_t machine) const { return free[machine].size() == size[machine]; }
  DeviceId take(std::size_t machine) {
    const DeviceId device = free[machine].front();
    free[machine].erase(free[machine].begin());
    return device;
  }
};

Machines all_free(const Cluster& cluster) {
  Machines machines;
  for (int node = 0; node < cluster.num_nodes(); ++node) {
    machines.free.push_back(cluster.devices_of_node(node));
    machines.size.push_back(machines.free.back().size());
  }
  return machines;
}

/// Machines that are fresh and those that are not, each in the cluster's order.
std::pair<std::vector<std::size_t>, std::vector<std::size_t>> fresh_and_used(
    const Machines& machines) {
  std::vector<std::size_t> fresh;
  std::vector<std::size_t> used;
  for (std::size_t m = 0; m < machines.free.size(); ++m)
    (machines.fresh(m) ? fresh : used).push_back(m);
  return {fresh, used};
}

/// Fills one machine after the other.
void fill(Machines& machines, const std::vector<std::size_t>& order, std::size_t count,
          Devices& taken) {
  for (const std::size_t m : order) {
    while (taken.size() < count && !machines.free[m].empty()) taken.push_back(machines.take(m));
  }
}

/// One device of each machine in turn.
void scatter(Machines& machines, const std::vector<std::size_t>& order, std::size_t count,
             Devices& taken) {
  bool some = true;
  while (some && taken.size() < count) {
    some = false;
    for (const std::size_t m : order) {
      if (taken.size() == count || machines.free[m].empty()) continue;
      taken.push_back(machines.take(m));
      some = true;
    }
  }
}

/// `count` free devices: from fresh machines, from used ones, or equally from all used ones (from
/// all where all are fresh); what these lack comes from the others.
Devices allocate(Machines& machines, Policy policy, std::size_t count) {
  const auto [fresh, used] = fresh_and_used(machines);
  Devices taken;
  if (policy == Policy::fresh_first) {
    fill(machines, fresh, count, taken);
    fill(machines, used, count, taken);
  } else if (policy == Policy::append_first) {
    fill(machines, used, count, taken);
    fill(machines, fresh, count, taken);
  } else {
    scatter(machines, used, count, taken);
    scatter(machines, fresh, count, taken);
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

/// All placements of stages with these numbers of devices, each policy for each stage.
void place_rest(const std::vector<int>& counts, Machines machines, std::vector<Devices>& placed,
                std::set<std::vector<Devices>>& found) {
  if (placed.size() == counts.size()) {
    found.insert(placed);
    return;
  }
  for (const Policy policy : {Policy::fresh_first, Policy::append_first, Policy::scatter_first}) {
    Machines rest = machines;
    placed.push_back(allocate(rest, policy, static_cast<std::size_t>(counts[placed.size()])));
    place_rest(counts, rest, placed, found);
    placed.pop_back();
  }
}

Plan plan_without_stages(const RandomInstance& instance, int micro_batch_size) {
  Plan plan;
  plan.global_batch_size = instance.global_batch_size;
  plan.micro_batch_size = micro_batch_size;
  plan.micro_batches = instance.global_batch_size / micro_batch_size;
  return plan;
}

/// Devices in order: replica by replica, member by member. Its layers are yet to be set.
Stage stage_on(const Devices& devices, int tensor_parallel, std::int64_t micro_batch_size) {
  Stage stage;
  stage.tensor_parallel = tensor_parallel;
  stage.replicas = static_cast<int>(devices.size()) / tensor_parallel;
  for (int j = 0; j < stage.replicas; ++j) {
    const auto first = devices.begin() + j * tensor_parallel;
    stage.devices.emplace_back(first, first + tensor_parallel);
  }
  stage.samples = by_count(micro_batch_size, stage.replicas);
  return stage;
}

/// Degrees of every stage, one choice for each divisor of its number of devices.
void visit_degrees(const std::vector<int>& counts, std::vector<int>& chosen,
                   const std::function<void(const std::vector<int>&)>& visit) {
  if (chosen.size() == counts.size()) {
    visit(chosen);
    return;
  }
  for (const int degree : divisors(counts[chosen.size()])) {
    chosen.push_back(degree);
    visit_degrees(counts, chosen, visit);
    chosen.pop_back();
  }
}

/// Plans over all divisions of the layers and micro-batch sizes that give each replica a sample.
void visit_plans(const RandomInstance& instance, const std::vector<Devices>& placed,
                 const std::vector<int>& degrees, const Visit& visit) {
  std::size_t most_replicas = 0;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    most_replicas =
        std::max(most_replicas, placed[i].size() / static_cast<std::size_t>(degrees[i]));
  }
  for (const int micro_batch_size : divisors(instance.global_batch_size)) {
    if (static_cast<std::size_t>(micro_batch_size) < most_replicas) continue;
    Plan plan = plan_without_stages(instance, micro_batch_size);
    for (std::size_t i = 0; i < placed.size(); ++i) {
      plan.stages.push_back(stage_on(placed[i], degrees[i], micro_batch_size));
    }
    visit_divisions(instance.profile.num_layers(), plan.num_stages(),
                    [&](const std::vector<Interval>& layers) {
                      for (std::size_t i = 0; i < layers.size(); ++i)
                        plan.stages[i].layers = {layers[i]};
                      if (costable(instance.profile, instance.cluster, plan)) visit(plan);
                    });
  }
}

/// The numbers of devices of 1, 2, ... stages, all devices used.
void visit_counts(const RandomInstance& instance,
                  const std::function<void(const std::vector<int>&)>& visit) {
  const int devices = instance.cluster.num_devices();
  for (int stages = 1; stages <= std::min(devices, instance.profile.num_layers()); ++stages) {
    visit_divisions(devices, stages, [&](const std::vector<Interval>& shares) {
      std::vector<int> counts;
      for (const Interval& share : shares) counts.push_back(static_cast<int>(share.size()));
      visit(counts);
    });
  }
}

}  // namespace

void visit_dapple_space(const RandomInstance& instance, const Visit& visit) {
  visit_counts(instance, [&](const std::vector<int>& counts) {
    std::vector<Devices> placed;
    std::set<std::vector<Devices>> found;
    place_rest(counts, all_free(instance.cluster), placed, found);
    for (const auto& placement : found)
      visit_plans(instance, placement, std::vector<int>(counts.size(), 1), visit);
  });
}

void visit_exhaustive_space(const RandomInstance& instance, const Visit& visit) {
  visit_counts(instance, [&](const std::vector<int>& counts) {
    Devices devices;
    for (int d = 0; d < instance.cluster.num_devices(); ++d) devices.emplace_back(d);
    do {
      std::vector<Devices> placed;
      auto next = devices.begin();
      for (const int count : counts) {
        placed.emplace_back(next, next + count);
        next += count;
      }
      std::vector<int> chosen;
      visit_degrees(counts, chosen,
                    [&](const auto& degrees) { visit_plans(instance, placed, degrees, visit); });
    } while (std::next_permutation(devices.begin(), devices.end()));
  });
}

}  // namespace pptrain::reference
