#include <algorithm>
#include <cmath>

#include "planners/reference/cost.hpp"
#include "planners/reference/stages.hpp"

namespace pptrain::reference {

namespace {

/// When the backward of each layer of a stage's replica has ended, counted from the start of its last backward; in
/// layer order.
std::vector<double> backward_ends(const Profile& profile, const Cluster& cluster, const Stage& stage, int replica) {
  std::vector<double> ends(static_cast<std::size_t>(stage.layers[0].size()));
  double end = 0.0;
  for (std::size_t l = ends.size(); l-- > 0;) {
    const int layer = static_cast<int>(stage.layers[0].begin) + static_cast<int>(l);
    end += layer_seconds(profile, cluster, layer, stage.devices[replica], samples_of(stage, replica)).backward;
    ends[l] = end;
  }
  return ends;
}

/// What is left of a single stage's all-reduces after its last backward: each layer's gradients are reduced as soon as
/// its backward is done on all replicas and the all-reduce before has ended, last layer first.
double gradient_seconds_left(const Profile& profile, const Cluster& cluster, const Stage& stage) {
  std::vector<std::vector<double>> ends;
  for (int j = 0; j < stage.replicas; ++j) ends.push_back(backward_ends(profile, cluster, stage, j));
  const auto slowest_end = [&](std::size_t l) {
    double latest = 0.0;
    for (const auto& replica : ends) latest = std::max(latest, replica[l]);
    return latest;
  };
  double left = 0.0;
  for (int shard = 0; shard < stage.tensor_parallel; ++shard) {
    double reduce_end = 0.0;
    for (std::size_t l = ends[0].size(); l-- > 0;) {
      const double parameters = profile.layers[stage.layers[0].begin + static_cast<std::int64_t>(l)].parameters;
      const double bytes = profile.bytes_per_parameter.gradient * parameters / stage.tensor_parallel;
      if (bytes <= 0.0) continue;
      reduce_end = std::max(reduce_end, slowest_end(l)) + all_reduce(cluster, shard_group(stage, shard), bytes);
    }
    left = std::max(left, reduce_end - slowest_end(0));
  }
  return left;
}

/// A communication stage: F = B = the larger of e_i / 2 and what each node sends or receives over its uplink.
LineStage communication_stage(const Profile& profile, const Cluster& cluster, const Stage& from, const Stage& to) {
  double seconds = cut_seconds(profile, cluster, from, to, last_layer(from)) / 2.0;
  for (int node = 0; node < cluster.num_nodes(); ++node) {
    double leaving = 0.0;
    double entering = 0.0;
    for (const Transfer& t : transfers(from, to, profile.layers[last_layer(from)].output_bytes)) {
      const bool from_here = cluster.node_of(t.from) == node;
      const bool to_here = cluster.node_of(t.to) == node;
      if (from_here && !to_here) leaving += t.bytes;
      if (to_here && !from_here) entering += t.bytes;
    }
    const Link& uplink = cluster.group_of_node(node).uplink;
    for (const double bytes : {leaving, entering}) {
      if (bytes > 0.0) seconds = std::max(seconds, bytes / uplink.bandwidth + uplink.latency);
    }
  }
  return {seconds, seconds, 0.0};
}

}  // namespace

double amp(const Profile& profile, const Cluster& cluster, const Plan& plan) {
  double sum = 0.0;
  double slowest_stage = 0.0;
  double slowest_gradient = 0.0;
  for (int i = 0; i < plan.num_stages(); ++i) {
    const Stage& stage = plan.stages[i];
    double t = 0.0;
    for (const Seconds& replica : replica_seconds(profile, cluster, stage)) t = std::max(t, replica.total());
    sum += t;
    slowest_stage = std::max(slowest_stage, t);
    slowest_gradient = std::max(slowest_gradient, gradient_seconds(profile, cluster, stage));
    if (i + 1 < plan.num_stages()) {
      sum += cut_seconds(profile, cluster, stage, plan.stages[i + 1], last_layer(stage));
    }
  }
  return static_cast<double>(plan.micro_batches - 1) * slowest_stage + sum + slowest_gradient;
}

std::vector<LineStage> dapple_line(const Profile& profile, const Cluster& cluster, const Plan& plan) {
  std::vector<LineStage> line;
  for (int i = 0; i < plan.num_stages(); ++i) {
    const Stage& stage = plan.stages[i];
    Seconds slowest;
    for (const Seconds& replica : replica_seconds(profile, cluster, stage)) {
      slowest = {std::max(slowest.forward, replica.forward), std::max(slowest.backward, replica.backward)};
    }
    const double reduce = plan.num_stages() == 1 ? gradient_seconds_left(profile, cluster, stage)
                                                 : gradient_seconds(profile, cluster, stage);
    line.push_back({slowest.forward, slowest.backward, reduce});
    if (i + 1 < plan.num_stages()) line.push_back(communication_stage(profile, cluster, stage, plan.stages[i + 1]));
  }
  return line;
}

Pivot pivot(const std::vector<LineStage>& line, double micro_batches) {
  const auto steady = [&](int s) { return (micro_batches - 1.0) * (line[s].forward + line[s].backward); };
  Pivot result;
  result.stage = static_cast<int>(line.size()) - 1;
  for (int s = result.stage - 1; s >= 0; --s) {
    double other = steady(result.stage);
    for (int k = s + 1; k < result.stage; ++k) other += line[k].forward + line[k].backward;
    const double larger = std::max(steady(s), other);
    if (larger > 0.0) result.margin = std::min(result.margin, std::abs(steady(s) - other) / larger);
    if (steady(s) > other) result.stage = s;
  }
  return result;
}

double dapple(const Profile& profile, const Cluster& cluster, const Plan& plan) {
  const std::vector<LineStage> line = dapple_line(profile, cluster, plan);
  const auto micro_batches = static_cast<double>(plan.micro_batches);
  const int q = pivot(line, micro_batches).stage;
  double warm_up = 0.0;
  for (int s = 0; s <= q; ++s) warm_up += line[s].forward;
  double ending = 0.0;
  for (int s = 0; s < static_cast<int>(line.size()); ++s) {
    double seconds = line[s].all_reduce;
    for (int a = s; a <= q; ++a) seconds += line[a].backward;
    for (int a = q + 1; a <= s - 1; ++a) seconds -= line[a].backward;
    ending = std::max(ending, seconds);
  }
  return warm_up + (micro_batches - 1.0) * (line[q].forward + line[q].backward) + ending;
}

}  // namespace pptrain::reference
