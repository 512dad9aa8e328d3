#include <algorithm>
#include <cmath>

#include "planners/reference/cost.hpp"
#include "planners/reference/stages.hpp"

namespace pptrain::reference {

namespace {

/// Largest of each of F and B over the replicas.
Seconds slowest_of(const std::vector<Seconds>& replicas) {
  Seconds slowest;
  for (const Seconds& replica : replicas) {
    slowest = {std::max(slowest.forward, replica.forward),
               std::max(slowest.backward, replica.backward)};
  }
  return slowest;
}

/// F and B of a stage: its parts and what lies between them.
Seconds stage_line_seconds(const Profile& profile, const Cluster& cluster, const Stage& stage) {
  const std::vector<Part> parts = parts_of(stage);
  Seconds sum;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    std::vector<Seconds> added = {slowest_of(replica_seconds(profile, cluster, stage, parts[p]))};
    if (p + 1 < parts.size())
      added.push_back(repartition_seconds(profile, cluster, parts[p], parts[p + 1]));
    for (const Seconds& s : added) sum = {sum.forward + s.forward, sum.backward + s.backward};
  }
  return sum;
}

/// Seconds from the start of a part's backward until each of its layers is done on all replicas, in
/// layer order; its ZeRO gather comes first.
std::vector<double> backward_ends(const Profile& profile, const Cluster& cluster,
                                  const Stage& stage, const Part& part) {
  std::vector<double> latest(static_cast<std::size_t>(part.layers.size()), 0.0);
  for (int j = 0; j < part.num_replicas(); ++j) {
    double layers = 0.0;
    for (std::size_t l = 0; l < latest.size(); ++l) {
      layers += layer_seconds(profile, cluster,
                              static_cast<int>(part.layers.begin + static_cast<int>(l)), part, j)
                    .backward;
    }
    double end = replica_seconds(profile, cluster, stage, part)[j].backward - layers;
    for (std::size_t l = latest.size(); l-- > 0;) {
      end += layer_seconds(profile, cluster,
                           static_cast<int>(part.layers.begin + static_cast<int>(l)), part, j)
                 .backward;
      latest[l] = std::max(latest[l], end);
    }
  }
  return latest;
}

/// What is left of a single stage's all-reduces after its last backward: each layer's gradients are
/// reduced as soon as its backward is done on all replicas and the all-reduce before has ended,
/// last layer first. The shard groups of a part go on by themselves; the parts are reduced one
/// after another.
double gradient_seconds_left(const Profile& profile, const Cluster& cluster, const Stage& stage) {
  const std::vector<Part> parts = parts_of(stage);
  double reduced = 0.0;  // end of the all-reduces so far
  double start = 0.0;    // of the part's backward
  for (std::size_t p = parts.size(); p-- > 0;) {
    const Part& part = parts[p];
    if (p + 1 < parts.size())
      start += repartition_seconds(profile, cluster, part, parts[p + 1]).backward;
    const std::vector<double> ends = backward_ends(profile, cluster, stage, part);
    const double begin = reduced;
    for (int shard = 0; shard < part.degree(); ++shard) {
      double end = begin;
      for (std::size_t l = ends.size(); l-- > 0;) {
        const double parameters =
            profile.layers[static_cast<std::size_t>(part.layers.begin) + l].parameters;
        if (parameters <= 0.0) continue;
        const double bytes = profile.bytes_per_parameter.gradient * parameters / part.degree();
        end = std::max(end, start + ends[l]) +
              sum_over_replicas(cluster, part, shard, part.loads[shard] * bytes);
      }
      reduced = std::max(reduced, end);
    }
    start += ends[0];
  }
  return std::max(0.0, reduced - start);
}

/// A communication stage: F = B = the larger of e_i / 2 and what each node sends or receives over
/// its uplink.
LineStage communication_stage(const Profile& profile, const Cluster& cluster, const Stage& from,
                              const Stage& to) {
  const Part last = parts_of(from).back();
  const std::vector<Transfer> all =
      transfers(last, parts_of(to).front(), profile.layers[last.layers.end - 1].output_bytes);
  double seconds = cut_seconds(profile, cluster, from, to) / 2.0;
  for (int node = 0; node < cluster.num_nodes(); ++node) {
    double leaving = 0.0;
    double entering = 0.0;
    for (const Transfer& t : all) {
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
    const double t = stage_seconds(profile, cluster, stage);
    sum += t;
    slowest_stage = std::max(slowest_stage, t);
    slowest_gradient = std::max(slowest_gradient, gradient_seconds(profile, cluster, stage));
    if (i + 1 < plan.num_stages()) {
      sum += cut_seconds(profile, cluster, stage, plan.stages[i + 1]);
    }
  }
  return static_cast<double>(plan.micro_batches - 1) * slowest_stage + sum + slowest_gradient;
}

std::vector<LineStage> dapple_line(const Profile& profile, const Cluster& cluster,
                                   const Plan& plan) {
  std::vector<LineStage> line;
  for (int i = 0; i < plan.num_stages(); ++i) {
    const Stage& stage = plan.stages[i];
    const Seconds seconds = stage_line_seconds(profile, cluster, stage);
    const double reduce = plan.num_stages() == 1 ? gradient_seconds_left(profile, cluster, stage)
                                                 : gradient_seconds(profile, cluster, stage);
    line.push_back({seconds.forward, seconds.backward, reduce});
    if (i + 1 < plan.num_stages())
      line.push_back(communication_stage(profile, cluster, stage, plan.stages[i + 1]));
  }
  return line;
}

Pivot pivot(const std::vector<LineStage>& line, double micro_batches) {
  const auto steady = [&](int s) {
    return (micro_batches - 1.0) * (line[s].forward + line[s].backward);
  };
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
