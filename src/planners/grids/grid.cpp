#include "planners/grids/grid.hpp"

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
  return fmt::format("pp {} x dp {} x tmp {}", grid.pipeline, grid.data, grid.tensor);
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

std::vector<std::int64_t> micro_batch_sizes(std::int64_t global_batch_size, const Restrictions& restrictions) {
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
      grids.push_back({static_cast<int>(pipeline), static_cast<int>(data), static_cast<int>(tensor)});
    }
  }
  return grids;
}

std::vector<std::int64_t> samples_per_replica(const Grid& grid, std::int64_t global_batch_size,
                                              const Restrictions& restrictions) {
  if (global_batch_size % grid.data != 0) return {};
  const std::int64_t share = global_batch_size / grid.data;
  if (!restrictions.micro_batch_size) return divisors(share);
  const std::int64_t micro_batch = *restrictions.micro_batch_size;
  if (micro_batch % grid.data != 0 || global_batch_size % micro_batch != 0) return {};
  return {micro_batch / grid.data};
}

std::string why_not_in_space(const Grid& grid, const Instance& instance, const Restrictions& restrictions) {
  const int layers = instance.profile.num_layers();
  if (grid.pipeline > layers) return fmt::format("{} stages, but the model has {} layers", grid.pipeline, layers);
  if (const int chunks = schedule_under(restrictions).virtual_stages * grid.pipeline; chunks > layers) {
    return fmt::format("{} chunks, but the model has {} layers", chunks, layers);
  }
  if (instance.global_batch_size % grid.data != 0) {
    return fmt::format("{} replicas do not divide the global batch of {}", grid.data, instance.global_batch_size);
  }
  const std::string kind = kind_without_rows(instance, grid.tensor);
  if (!kind.empty()) return fmt::format("the profile has no rows of every layer at degree {} on {}", grid.tensor, kind);
  if (samples_per_replica(grid, instance.global_batch_size, restrictions).empty()) {
    return fmt::format("{} replicas do not divide the micro-batch of {}", grid.data, *restrictions.micro_batch_size);
  }
  return "";
}

}  // namespace pptrain
