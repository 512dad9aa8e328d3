#include "plan/match.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "plan/parts.hpp"

namespace pptrain {
namespace {

/// The number of devices of the cluster that the plan was made for.
std::int64_t num_devices_for(const Plan& plan) {
  std::int64_t count = 0;
  for (const KindRun& run : plan.device_kinds) count += run.count;
  if (count > 0) return count;
  for (const Stage& stage : plan.stages) {
    for (const auto& row : stage.devices) {
      for (const DeviceId device : row) count = std::max<std::int64_t>(count, device.value + 1);
    }
  }
  return count;
}

/// Kind of a device by runs that reach it.
const std::string& kind_at(const std::vector<KindRun>& runs, int device) {
  std::size_t i = 0;
  for (int end = runs[0].count; end <= device; end += runs[i].count) ++i;
  return runs[i].kind;
}

void check_number(const Plan& plan, const Cluster& cluster, const std::string& source) {
  const std::int64_t planned = num_devices_for(plan);
  const int present = cluster.num_devices();
  if (planned == present) return;
  throw_bad_input(
      {source, fmt::format("a plan for {} devices, but the job has {}", planned, present),
       plan.cluster.empty() ? "a rank drives each device of the plan's cluster"
                            : fmt::format("the plan was made for cluster \"{}\"", plan.cluster),
       fmt::format("take that cluster or start {} ranks, or plan again for {}", planned, present)});
}

void check_kinds(const Plan& plan, const Cluster& cluster, const std::string& source) {
  if (plan.device_kinds.empty()) return;
  const std::vector<KindRun> present = kind_runs(cluster);
  if (plan.device_kinds == present) return;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const std::string& planned = kind_at(plan.device_kinds, d);
    const std::string& found = kind_at(present, d);
    if (planned == found) continue;
    throw_bad_input({source + ": device_kinds",
                     fmt::format("device {} is a \"{}\" in the plan and a \"{}\" in this job", d,
                                 planned, found),
                     fmt::format("the plan was made for cluster \"{}\"", plan.cluster),
                     "plan again, or start the ranks in the plan's order of devices"});
  }
}

void check_global_batch(const Plan& plan, std::int64_t global_batch_size,
                        const std::string& source) {
  if (plan.global_batch_size == global_batch_size) return;
  throw_bad_input({source,
                   fmt::format("global_batch_size = {}, but the job says {}",
                               plan.global_batch_size, global_batch_size),
                   "plan and configuration must agree", "make them equal"});
}

using Shards = std::map<std::string, std::vector<Interval>>;
using Axes = std::map<std::string, std::int64_t>;

/// A stage, or a block of one, as the member's shares go by.
struct Division {
  std::string place;
  const std::vector<Interval>& layers;
  int members;
  const Shards& shards;
};

template <class Visit>
void for_each_division(const Plan& plan, const std::string& source, const Visit& visit) {
  for (int s = 0; s < plan.num_stages(); ++s) {
    const Stage& stage = plan.stages[s];
    const std::string place = fmt::format("{}: stages[{}]", source, s);
    visit(Division{place, stage.layers, stage.tensor_parallel, stage.shards});
    for (std::size_t b = 0; b < stage.blocks.size(); ++b) {
      const Block& block = stage.blocks[b];
      const std::vector<Interval> layers = {block.layers};
      visit(Division{fmt::format("{}.blocks[{}]", place, b), layers, block.tensor_parallel,
                     block.shards});
    }
  }
}

void check_shards(const Division& division, const Axes& axes) {
  for (const auto& [axis, parts] : division.shards) {
    const auto length = axes.find(axis);
    if (length == axes.end()) continue;
    const std::string place = division.place + ".shards." + axis;
    if (parts.back().end != length->second) {
      throw_bad_input({place,
                       fmt::format("they end at {}, but the model has {} {}", parts.back().end,
                                   length->second, axis),
                       "the members share the whole axis",
                       fmt::format("let them end at {}", length->second)});
    }
    if (std::any_of(parts.begin(), parts.end(), [](Interval part) { return part.empty(); })) {
      throw_bad_input({place, "a member has none", "each member holds at least one",
                       "use fewer members or other shards"});
    }
  }
}

/// Rows are sent to experts where there are some.
void check_experts(const Plan& plan, const Model& model, const std::string& source) {
  for (int s = 0; s < plan.num_stages(); ++s) {
    const std::vector<Block>& blocks = plan.stages[s].blocks;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (blocks[b].pattern != TensorPattern::all_to_all) continue;
      for (std::int64_t l = blocks[b].layers.begin; l < blocks[b].layers.end; ++l) {
        const Layer& layer = model.layers[static_cast<std::size_t>(l)];
        if (layer.has_division(WeightDivision::exchange)) continue;
        throw_bad_input({fmt::format("{}: stages[{}].blocks[{}].pattern", source, s, b),
                         fmt::format("\"all-to-all\" of layer {} ({})", l, layer.name),
                         "it has no experts", "give the block layers with experts alone"});
      }
    }
  }
}

/// Along each axis of its layers a member holds at least one.
void check_members(const Division& division, const Model& model) {
  const WeightDivision weights =
      divides_experts(division.shards) ? WeightDivision::experts : WeightDivision::columns;
  for (const Interval& layers : division.layers) {
    for (std::int64_t l = layers.begin; l < layers.end; ++l) {
      for (const ParameterSpec& spec : model.layers[l].parameters) {
        const ShardAxis axis = spec.divided_by(weights).axis;
        if (axis == ShardAxis::none || division.members <= model.axis_size(axis)) continue;
        throw_bad_input({division.place,
                         fmt::format("tensor_parallel = {}, but the model has {} {}",
                                     division.members, model.axis_size(axis), to_string(axis)),
                         "each member holds at least one",
                         fmt::format("use at most {} members", model.axis_size(axis))});
      }
    }
  }
}

}  // namespace

std::vector<KindRun> kind_runs(const Cluster& cluster) {
  std::vector<KindRun> runs;
  for (const NodeGroup& group : cluster.groups) {
    const int count = group.count * group.num_devices;
    if (!runs.empty() && runs.back().kind == group.device_kind) {
      runs.back().count += count;
    } else {
      runs.push_back({group.device_kind, count});
    }
  }
  return runs;
}

void check_plan_shards(const Plan& plan, const Axes& axes, const std::string& source) {
  for_each_division(plan, source, [&](const Division& division) { check_shards(division, axes); });
}

void check_plan_devices(const Plan& plan, const Cluster& cluster, const std::string& source) {
  check_number(plan, cluster, source);
  check_kinds(plan, cluster, source);
}

void check_plan_context(const Plan& plan, std::int64_t context, const std::string& source) {
  if (plan.context == context) return;
  throw_bad_input(
      {source, fmt::format("context = {}, but the job says {}", plan.context, context),
       "so many replicas divide the positions of each sample, which other trainers do, and pptrain "
       "does not",
       context == 1 ? "plan, simulate or export it with --like TRAINER" : "plan again"});
}

void check_plan_model(const Plan& plan, const Model& model, const std::string& source) {
  validate_plan(plan, model.num_layers(), static_cast<int>(num_devices_for(plan)), source);
  check_experts(plan, model, source);
  for_each_division(plan, source,
                    [&](const Division& division) { check_members(division, model); });
  check_plan_shards(plan, axes_of(model), source);
}

void check_plan_matches(const Plan& plan, const Model& model, const Cluster& cluster,
                        std::int64_t global_batch_size, const std::string& source) {
  check_plan_devices(plan, cluster, source);
  check_plan_model(plan, model, source);
  check_global_batch(plan, global_batch_size, source);
}

}  // namespace pptrain
