// `whale` against brute force over whole shares, layers, orders of the devices and micro-batch
// sizes.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "planners/reference/divisions.hpp"
#include "planners/reference/run_planner.hpp"
#include "support/catch.hpp"

namespace pptrain::reference {
namespace {

using Devices = std::vector<DeviceId>;

void sort_by_memory(const Cluster& cluster, Devices& devices) {
  std::stable_sort(devices.begin(), devices.end(), [&](DeviceId a, DeviceId b) {
    return cluster.kind_of(a).memory > cluster.kind_of(b).memory;
  });
}

/// Meshes of `stages` stages of equal shape: the devices in file order, by memory, and dealt out
/// pipeline by pipeline.
std::vector<std::vector<Devices>> orders(const Cluster& cluster, int stages, int replicas,
                                         int degree) {
  Devices devices;
  for (int d = 0; d < cluster.num_devices(); ++d) devices.emplace_back(d);
  Devices by_memory = devices;
  sort_by_memory(cluster, by_memory);
  const auto size = static_cast<std::ptrdiff_t>(replicas) * degree;
  std::vector<std::vector<Devices>> all(3, std::vector<Devices>(stages));
  for (int i = 0; i < stages; ++i) {
    all[0][i].assign(devices.begin() + i * size, devices.begin() + (i + 1) * size);
    all[1][i].assign(by_memory.begin() + i * size, by_memory.begin() + (i + 1) * size);
  }
  for (int j = 0; j < replicas; ++j) {
    const auto pipeline = static_cast<std::ptrdiff_t>(stages) * degree;
    Devices chunk(devices.begin() + j * pipeline, devices.begin() + (j + 1) * pipeline);
    sort_by_memory(cluster, chunk);
    for (int d = 0; d < static_cast<int>(chunk.size()); ++d) all[2][d / degree].push_back(chunk[d]);
  }
  return all;
}

/// Every way to give `total` samples to `parts` replicas, each at least one.
void visit_shares(int parts, std::int64_t total, std::vector<Interval>& shares,
                  const std::function<void(const std::vector<Interval>&)>& visit) {
  const std::int64_t begin = shares.empty() ? 0 : shares.back().end;
  const std::int64_t most = parts == 1 ? total : total - (parts - 1);
  for (std::int64_t size = parts == 1 ? total : 1; size <= most; ++size) {
    shares.push_back({begin, begin + size});
    if (parts == 1) {
      visit(shares);
    } else {
      visit_shares(parts - 1, total - size, shares, visit);
    }
    shares.pop_back();
  }
}

void visit_all_shares(Plan& plan, int stage, const Visit& visit) {
  if (stage == plan.num_stages()) {
    visit(plan);
    return;
  }
  std::vector<Interval> shares;
  visit_shares(plan.stages[stage].replicas, plan.micro_batch_size, shares,
               [&](const std::vector<Interval>& mine) {
                 plan.stages[stage].samples = mine;
                 visit_all_shares(plan, stage + 1, visit);
               });
}

Stage stage_of(const Devices& devices, int degree, Interval layers) {
  Stage stage;
  stage.layers = {layers};
  stage.tensor_parallel = degree;
  stage.replicas = static_cast<int>(devices.size()) / degree;
  for (int j = 0; j < stage.replicas; ++j) {
    stage.devices.emplace_back(devices.begin() + j * degree, devices.begin() + (j + 1) * degree);
  }
  return stage;
}

/// Equal numbers of devices for every stage, one degree for all.
void visit_whale_space(const RandomInstance& instance, const Visit& visit) {
  const int num_devices = instance.cluster.num_devices();
  const int layers = instance.profile.num_layers();
  for (int stages = 1; stages <= std::min(num_devices, layers); ++stages) {
    for (int degree = 1; stages * degree <= num_devices; ++degree) {
      const auto& groups = instance.cluster.groups;
      const bool known = std::all_of(groups.begin(), groups.end(), [&](const NodeGroup& group) {
        return instance.profile.has_degree(group.device_kind, degree);
      });
      if (!known || num_devices % (stages * degree) != 0) continue;
      const int replicas = num_devices / (stages * degree);
      for (const std::vector<Devices>& meshes :
           orders(instance.cluster, stages, replicas, degree)) {
        for (std::int64_t size = replicas; size <= instance.global_batch_size; ++size) {
          if (instance.global_batch_size % size != 0) continue;
          visit_divisions(layers, stages, [&](const std::vector<Interval>& division) {
            Plan plan;
            plan.global_batch_size = instance.global_batch_size;
            plan.micro_batch_size = size;
            plan.micro_batches = plan.global_batch_size / size;
            plan.schedule.name = "1f1b";
            for (int i = 0; i < stages; ++i)
              plan.stages.push_back(stage_of(meshes[i], degree, division[i]));
            visit_all_shares(plan, 0, visit);
          });
        }
      }
    }
  }
}

/// One stage, one run of layers at another degree, whole shares of both: the blocks of Whale's
/// Example 2.
void visit_hybrids(const RandomInstance& instance, const Visit& visit) {
  const int num_devices = instance.cluster.num_devices();
  const int layers = instance.profile.num_layers();
  const auto known = [&](int degree) {
    const auto& groups = instance.cluster.groups;
    return num_devices % degree == 0 &&
           std::all_of(groups.begin(), groups.end(), [&](const NodeGroup& group) {
             return instance.profile.has_degree(group.device_kind, degree);
           });
  };
  const auto visit_runs = [&](Plan plan, int degree) {
    for (int begin = 0; begin < layers; ++begin) {
      for (int end = begin + 1; end <= layers; ++end) {
        std::vector<Interval> shares;
        visit_shares(num_devices / degree, plan.micro_batch_size, shares,
                     [&](const std::vector<Interval>& samples) {
                       plan.stages[0].blocks = {{{begin, end},
                                                 num_devices / degree,
                                                 degree,
                                                 TensorPattern::megatron,
                                                 samples,
                                                 {}}};
                       visit_all_shares(plan, 0, visit);
                     });
      }
    }
  };
  for (int base = 1; base <= num_devices; ++base) {
    for (int degree = 1; degree <= num_devices; ++degree) {
      if (base == degree || !known(base) || !known(degree)) continue;
      for (const auto& meshes : orders(instance.cluster, 1, num_devices / base, base)) {
        for (const int size : divisors(instance.global_batch_size)) {
          Plan plan;
          plan.global_batch_size = instance.global_batch_size;
          plan.micro_batch_size = size;
          plan.micro_batches = plan.global_batch_size / size;
          plan.schedule.name = "1f1b";
          plan.stages = {stage_of(meshes[0], base, {0, layers})};
          visit_runs(plan, degree);
        }
      }
    }
  }
}

TEST_CASE("whale is close to the optimum of one stage with a block", "[whale]") {
  int found = 0;
  int close = 0;
  int with_block = 0;
  for (int seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    RandomInstance instance = random_instance(seed, {4, 4, {1, 2, 3, 4, 6}});
    // Layers without all-reduce would be divided by sp1 or sp2, of which this brute force knows
    // nothing.
    for (ProfileLayer& layer : instance.profile.layers)
      layer.tensor_parallel_allreduce_bytes += 1.0;
    const auto best = optimum(instance, visit_hybrids, Form::amp);
    if (!best) continue;
    ++found;
    const Run run = run_planner("whale", instance);
    CAPTURE(run.message, write_plan(best->plan));
    REQUIRE(run.plan);
    with_block += run.plan->stages[0].blocks.empty() ? 0 : 1;
    if (run.plan->predicted->estimate_seconds <= best->seconds * 1.05) ++close;
  }
  CHECK(found > 200);
  CHECK(with_block > 20);
  CHECK(close >= 0.99 * found);
}

TEST_CASE("whale finds the optimum of one stage, samples and memory included", "[whale]") {
  int found = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    const RandomInstance instance = random_instance(seed, {6, 4, {1, 2, 3, 4, 5, 6, 7, 8, 9, 12}});
    Restrictions restrictions;
    restrictions.pipeline = 1;
    restrictions.tensor = 1;
    const Run run = run_planner("whale", instance, restrictions);
    if (run.ending == Ending::refused) continue;
    const auto best = optimum(instance, visit_whale_space, Form::amp, restrictions);
    CAPTURE(run.message);
    REQUIRE(run.ending == (best ? Ending::found : Ending::infeasible));
    if (!best) continue;
    CAPTURE(write_plan(*run.plan), write_plan(best->plan));
    REQUIRE(run.plan->predicted->estimate_seconds <= best->seconds * (1.0 + 1e-9));
    ++found;
  }
  CHECK(found > 500);
}

TEST_CASE("whale is close to the optimum of its pipelines", "[whale]") {
  int found = 0;
  int exact = 0;
  int close = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    const RandomInstance instance = random_instance(seed, {5, 4, {1, 2, 3, 4, 6, 8}});
    const Run run = run_planner("whale", instance);
    const auto best = optimum(instance, visit_whale_space, Form::amp);
    CAPTURE(run.message);
    if (!best && run.plan) REQUIRE_FALSE(run.plan->stages[0].blocks.empty());  // of another space
    if (!best) continue;
    REQUIRE(run.plan);
    ++found;
    const double ratio = run.plan->predicted->estimate_seconds / best->seconds;
    if (ratio <= 1.0 + 1e-9) ++exact;
    if (ratio <= 1.05) ++close;
  }
  CHECK(found > 500);
  CHECK(exact >= 0.95 * found);
  CHECK(close >= 0.99 * found);
}

}  // namespace
}  // namespace pptrain::reference
