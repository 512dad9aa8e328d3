#include "planners/meshes/grid.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pptrain {
namespace {

bool allows(const AutoInt& fixed, std::int64_t value) { return !fixed || *fixed == value; }

/// A kind of the cluster without rows at this degree, or "".
std::string kind_without_rows(const Instance& instance, int tensor) {
  for (const NodeGroup& group : instance.cluster.groups) {
    if (!instance.profile.has_degree(group.device_kind, tensor)) return group.device_kind;
  }
  return "";
}

}  // namespace

std::string to_string(const Grid& grid) {
  return fmt::format("PP {} x DP {} x TP {}", grid.pipeline, grid.data, grid.tensor);
}

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> result;
  for (std::int64_t d = 1; d <= number / d; ++d) {
    if (number % d != 0) continue;
    result.push_back(d);
    if (d != number / d) result.push_back(number / d);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::int64_t> micro_batch_sizes(std::int64_t global_batch_size,
                                            const Restrictions& restrictions) {
  if (restrictions.micro_batch_size) return {*restrictions.micro_batch_size};
  return divisors(global_batch_size);
}

std::vector<Grid> grids_of(int num_devices, const Restrictions& restrictions) {
  std::vector<Grid> grids;
  for (const std::int64_t pipeline : divisors(num_devices)) {
    if (!allows(restrictions.pipeline, pipeline)) continue;
    for (const std::int64_t data : divisors(num_devices / pipeline)) {
      const std::int64_t tensor = num_devices / pipeline / data;
      if (!allows(restrictions.data, data) || !allows(restrictions.tensor, tensor)) continue;
      if (data % restrictions.context != 0) continue;
      if (restrictions.rule && !restrictions.rule->allows_degree(static_cast<int>(tensor)))
        continue;
      grids.push_back(
          {static_cast<int>(pipeline), static_cast<int>(data), static_cast<int>(tensor)});
    }
  }
  return grids;
}

namespace {

std::int64_t rounded_up(std::int64_t samples, std::int64_t replicas) {
  return (samples + replicas - 1) / replicas;
}

std::vector<std::int64_t> uneven_samples(const Grid& grid, std::int64_t global_batch_size,
                                         const Restrictions& restrictions) {
  std::vector<std::int64_t> samples;
  for (const std::int64_t micro_batch : micro_batch_sizes(global_batch_size, restrictions)) {
    if (micro_batch < grid.data) continue;
    const std::int64_t most = rounded_up(micro_batch, grid.data);
    if (samples.empty() || samples.back() != most) samples.push_back(most);
  }
  return samples;
}

}  // namespace

std::vector<std::int64_t> samples_per_replica(const Grid& grid, std::int64_t global_batch_size,
                                              const Restrictions& restrictions) {
  if (restrictions.uneven_shares) return uneven_samples(grid, global_batch_size, restrictions);
  if (global_batch_size % grid.data != 0) return {};
  const std::int64_t share = global_batch_size / grid.data;
  if (!restrictions.micro_batch_size) return divisors(share);
  const std::int64_t micro_batch = *restrictions.micro_batch_size;
  if (micro_batch % grid.data != 0 || global_batch_size % micro_batch != 0) return {};
  return {micro_batch / grid.data};
}

std::int64_t micro_batch_of(const Grid& grid, std::int64_t samples, std::int64_t global_batch_size,
                            const Restrictions& restrictions) {
  std::int64_t largest = samples * grid.data;
  if (!restrictions.uneven_shares) return largest;
  for (const std::int64_t micro_batch : micro_batch_sizes(global_batch_size, restrictions)) {
    if (rounded_up(micro_batch, grid.data) == samples) largest = micro_batch;
  }
  return largest;
}

std::string why_not_in_space(const Grid& grid, const Instance& instance,
                             const Restrictions& restrictions) {
  const int layers = instance.profile.num_layers();
  if (grid.pipeline > layers)
    return fmt::format("{} stages, but the model has {} layers", grid.pipeline, layers);
  const std::int64_t chunks =
      std::int64_t{schedule_under(restrictions).virtual_stages} * grid.pipeline;
  if (chunks > layers) {
    return fmt::format("{} chunks, but the model has {} layers", chunks, layers);
  }
  if (restrictions.uneven_shares) {
    const std::int64_t most = restrictions.micro_batch_size.value_or(instance.global_batch_size);
    if (most < grid.data)
      return fmt::format("{} replicas cannot share {} samples", grid.data, most);
  } else if (instance.global_batch_size % grid.data != 0) {
    return fmt::format("{} replicas do not divide the global batch of {}", grid.data,
                       instance.global_batch_size);
  }
  const std::string kind = kind_without_rows(instance, grid.tensor);
  if (!kind.empty())
    return fmt::format("the profile has no rows of every layer at degree {} on {}", grid.tensor,
                       kind);
  if (samples_per_replica(grid, instance.global_batch_size, restrictions).empty()) {
    return fmt::format("{} replicas do not divide the micro-batch of {}", grid.data,
                       *restrictions.micro_batch_size);
  }
  return "";
}

Restrictions with_uneven_shares(const Instance& instance, Restrictions restrictions) {
  restrictions.uneven_shares = false;
  if (restrictions.shares_evenly()) return restrictions;
  const bool any_fixed = restrictions.data || restrictions.pipeline || restrictions.tensor ||
                         restrictions.micro_batch_size;
  // Planners of grids are as their authors have them; where nothing is asked for, other planners
  // find other plans.
  if (!any_fixed && !plans_only_grids(schedule_under(restrictions).name, restrictions))
    return restrictions;
  const std::vector<Grid> grids = grids_of(instance.cluster.num_devices(), restrictions);
  restrictions.uneven_shares = std::none_of(grids.begin(), grids.end(), [&](const Grid& grid) {
    return why_not_in_space(grid, instance, restrictions).empty();
  });
  return restrictions;
}

}  // namespace pptrain
