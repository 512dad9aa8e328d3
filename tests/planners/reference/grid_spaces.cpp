#include <algorithm>

#include "planners/reference/cost.hpp"
#include "planners/reference/divisions.hpp"
#include "planners/reference/spaces.hpp"

namespace pptrain::reference {

namespace {

struct Grid {
  int pp = 1;
  int dp = 1;
  int tmp = 1;
};

/// Shard k of replica j of stage i is device (i * dp + j) * tmp + k; each replica has `samples`.
Plan grid_plan(const RandomInstance& instance, const Grid& grid, int samples,
               const std::vector<Interval>& layers) {
  Plan plan;
  plan.global_batch_size = instance.global_batch_size;
  plan.micro_batch_size = static_cast<std::int64_t>(samples) * grid.dp;
  plan.micro_batches = plan.global_batch_size / plan.micro_batch_size;
  for (int i = 0; i < grid.pp; ++i) {
    Stage stage;
    stage.layers = {layers[i]};
    stage.replicas = grid.dp;
    stage.tensor_parallel = grid.tmp;
    stage.samples = by_count(plan.micro_batch_size, grid.dp);
    for (int j = 0; j < grid.dp; ++j) {
      stage.devices.emplace_back();
      for (int k = 0; k < grid.tmp; ++k)
        stage.devices[j].emplace_back((i * grid.dp + j) * grid.tmp + k);
    }
    plan.stages.push_back(stage);
  }
  return plan;
}

/// Grids over all devices whose replicas divide the batch, by (pp, dp, tmp).
std::vector<Grid> grids(const RandomInstance& instance) {
  std::vector<Grid> result;
  const int devices = instance.cluster.num_devices();
  for (int pp = 1; pp <= instance.profile.num_layers(); ++pp) {
    for (int dp = 1; dp <= devices; ++dp) {
      for (int tmp = 1; tmp <= devices; ++tmp) {
        if (pp * dp * tmp == devices && instance.global_batch_size % dp == 0)
          result.push_back({pp, dp, tmp});
      }
    }
  }
  return result;
}

/// The contiguous division whose largest number of parameters is smallest.
std::vector<Interval> by_parameters(const Profile& profile, int parts) {
  std::vector<Interval> best;
  double best_largest = 0.0;
  visit_divisions(profile.num_layers(), parts, [&](const std::vector<Interval>& layers) {
    double largest = 0.0;
    for (const Interval& stage : layers) {
      double parameters = 0.0;
      for (auto l = stage.begin; l < stage.end; ++l) parameters += profile.layers[l].parameters;
      largest = std::max(largest, parameters);
    }
    if (best.empty() || largest < best_largest) {
      best = layers;
      best_largest = largest;
    }
  });
  return best;
}

int devices_of_smallest_node(const Cluster& cluster) {
  int smallest = cluster.num_devices();
  for (int node = 0; node < cluster.num_nodes(); ++node) {
    smallest = std::min(smallest, static_cast<int>(cluster.devices_of_node(node).size()));
  }
  return smallest;
}

/// Megatron's plans for one samples-per-replica: those that fit of the first degrees of which any
/// fits.
std::vector<Plan> megatron_plans(const RandomInstance& instance, int samples,
                                 const Restrictions& restrictions) {
  std::vector<Grid> candidates = grids(instance);
  std::sort(candidates.begin(), candidates.end(), [](const Grid& a, const Grid& b) {
    return std::pair(a.tmp * a.pp, a.tmp) < std::pair(b.tmp * b.pp, b.tmp);
  });
  for (const Grid& grid : candidates) {
    if (grid.tmp > devices_of_smallest_node(instance.cluster)) continue;
    if (instance.global_batch_size % (grid.dp * samples) != 0) continue;
    std::vector<Plan> fitting;
    for (const auto& layers : {by_count(instance.profile.num_layers(), grid.pp),
                               by_parameters(instance.profile, grid.pp)}) {
      const Plan plan =
          with_fixed_choices(grid_plan(instance, grid, samples, layers), restrictions);
      if (!obeys(plan, restrictions) || !costable(instance.profile, instance.cluster, plan))
        continue;
      if (fits(instance.profile, instance.cluster, plan)) fitting.push_back(plan);
    }
    if (!fitting.empty()) return fitting;
  }
  return {};
}

}  // namespace

void visit_amp_space(const RandomInstance& instance, const Visit& visit) {
  for (const Grid& grid : grids(instance)) {
    for (const int samples : divisors(instance.global_batch_size / grid.dp)) {
      visit_divisions(instance.profile.num_layers(), grid.pp,
                      [&](const std::vector<Interval>& layers) {
                        const Plan plan = grid_plan(instance, grid, samples, layers);
                        if (costable(instance.profile, instance.cluster, plan)) visit(plan);
                      });
    }
  }
}

void visit_data_parallel_space(const RandomInstance& instance, const Visit& visit) {
  visit_amp_space(instance, [&](const Plan& plan) {
    if (plan.num_stages() == 1 && plan.stages[0].tensor_parallel == 1) visit(plan);
  });
}

std::optional<Optimum> megatron_optimum(const RandomInstance& instance,
                                        const Restrictions& restrictions) {
  const Space space = [&](const RandomInstance&, const Visit& visit) {
    std::vector<Plan> plans;
    for (int samples = 1; samples <= instance.global_batch_size; ++samples) {
      for (const Plan& plan : megatron_plans(instance, samples, restrictions))
        plans.push_back(plan);
    }
    const auto key = [](const Plan& p) {
      std::vector<std::int64_t> result = {p.num_stages(), p.stages[0].replicas,
                                          p.stages[0].tensor_parallel, p.micro_batch_size};
      for (const Stage& stage : p.stages) result.push_back(stage.layers[0].end);
      return result;
    };
    std::sort(plans.begin(), plans.end(),
              [&](const Plan& a, const Plan& b) { return key(a) < key(b); });
    for (const Plan& plan : plans) visit(plan);
  };
  return optimum(instance, space, Form::amp, restrictions);
}

}  // namespace pptrain::reference
