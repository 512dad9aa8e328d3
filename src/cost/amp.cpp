#include <algorithm>
#include <numeric>

#include "cost/stage_time.hpp"

namespace pptrain {
namespace {

double stage_seconds(const Instance& instance, const Stage& stage) {
  double slowest = 0.0;
  for (const ReplicaGroup& group : replica_groups(instance.cluster, stage)) {
    double seconds = 0.0;
    for (const Interval& layers : stage.layers) {
      seconds += layers_seconds(instance, group, layers, stage.tensor_parallel, stage.recompute).total;
    }
    slowest = std::max(slowest, seconds);
  }
  return slowest;
}

/// e_i = 2 (bytes / bandwidth + latency) of the slowest pair: activations down, gradients up.
double cut_seconds(const Instance& instance, const Stage& sender, const Stage& receiver, double bytes_per_sample) {
  double slowest = 0.0;
  for_each_pair(sender, receiver, [&](DeviceId a, DeviceId b, double samples) {
    const Link link = instance.cluster.path(a, b);
    slowest = std::max(slowest, 2.0 * (samples * bytes_per_sample / link.bandwidth + link.latency));
  });
  return slowest;
}

double gradient_seconds(const Instance& instance, const Stage& stage) {
  double bytes = 0.0;
  for (const Interval& layers : stage.layers) bytes += gradient_bytes(instance.profile, stage, layers);
  double slowest = 0.0;
  for (int shard = 0; shard < stage.tensor_parallel; ++shard) {
    slowest = std::max(slowest, all_reduce_seconds(instance.cluster, shard_group(stage, shard), bytes));
  }
  return slowest;
}

double largest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }
double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

double all_reduce_seconds(const Link& slowest, int n, double bytes) {
  if (n <= 1) return 0.0;
  return 2.0 * (n - 1) / n * bytes / slowest.bandwidth + 2.0 * (n - 1) * slowest.latency;
}

double all_reduce_seconds(const Cluster& cluster, const std::vector<DeviceId>& group, double bytes) {
  return all_reduce_seconds(cluster.slowest_link(group), static_cast<int>(group.size()), bytes);
}

AmpTerms amp_terms(const Instance& instance, const Plan& plan) {
  AmpTerms terms;
  for (const Stage& stage : plan.stages) {
    terms.stage_seconds.push_back(stage_seconds(instance, stage));
    terms.gradient_seconds.push_back(gradient_seconds(instance, stage));
  }
  const std::vector<Chunk> chunks = chunks_in_order(plan);
  for (std::size_t c = 1; c < chunks.size(); ++c) {
    const double bytes = instance.profile.layers[chunks[c].layers.begin - 1].output_bytes;
    terms.cut_seconds.push_back(
        cut_seconds(instance, plan.stages[chunks[c - 1].stage], plan.stages[chunks[c].stage], bytes));
  }
  terms.iteration_seconds = static_cast<double>(plan.micro_batches - 1) * largest(terms.stage_seconds) +
                            sum(terms.cut_seconds) + sum(terms.stage_seconds) + largest(terms.gradient_seconds);
  return terms;
}

}  // namespace pptrain
