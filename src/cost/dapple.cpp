#include <algorithm>
#include <map>
#include <numeric>

#include "cost/stage_time.hpp"

namespace pptrain {
namespace {

/// A computation or communication stage of DAPPLE's line.
struct LineStage {
  double forward = 0.0;
  double backward = 0.0;    ///< B and W
  double all_reduce = 0.0;  ///< AR(P_s, g_s)
  double both() const { return forward + backward; }
};

LineStage computation(const Instance& instance, const StageParts& parts) {
  const PassSeconds pass = stage_seconds(instance, parts);
  return {pass.forward, pass.backward, gradient_seconds(instance, parts)};
}

/// The slowest pair, or the slowest uplink where many pairs share one.
LineStage communication(const Instance& instance, const Mesh& sender, const Mesh& receiver,
                        double bytes_per_sample) {
  struct Traffic {
    double out = 0.0;
    double in = 0.0;
  };
  std::map<int, Traffic> traffic;  // by node
  double seconds = 0.0;
  for_each_pair(sender, receiver, [&](DeviceId a, DeviceId b, double samples) {
    const Link link = instance.cluster.path(a, b);
    const double bytes = samples * bytes_per_sample;
    seconds = std::max(seconds, bytes / link.bandwidth + link.latency);
    const int from = instance.cluster.node_of(a);
    const int to = instance.cluster.node_of(b);
    if (from == to) return;
    traffic[from].out += bytes;
    traffic[to].in += bytes;
  });
  for (const auto& [node, bytes] : traffic) {
    const Link& uplink = instance.cluster.group_of_node(node).uplink;
    seconds = std::max(seconds, std::max(bytes.out, bytes.in) / uplink.bandwidth + uplink.latency);
  }
  return {seconds, seconds, 0.0};
}

std::vector<LineStage> line_of(const Instance& instance, const Plan& plan) {
  const std::vector<Chunk> chunks = chunks_in_order(plan);
  std::vector<LineStage> line;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const StageParts parts(plan.stages[chunks[c].stage], {chunks[c].layers});
    if (c > 0) {
      const double bytes = instance.profile.layers[chunks[c].layers.begin - 1].output_bytes;
      const StageParts sender(plan.stages[chunks[c - 1].stage], {chunks[c - 1].layers});
      line.push_back(communication(instance, sender.last_mesh(), parts.first_mesh(), bytes));
    }
    line.push_back(computation(instance, parts));
  }
  if (chunks.size() == 1)
    line.front().all_reduce = gradient_seconds_left(instance, StageParts(plan.stages[0]));
  return line;
}

/// DAPPLE's heuristic for the pivot: the stage whose steady phase leaves no bubble.
std::size_t pivot_of(const std::vector<LineStage>& line, double micro_batches) {
  std::size_t pivot = line.size() - 1;
  double between = 0.0;  // F + B of the stages between s and the pivot
  for (std::size_t s = line.size() - 1; s-- > 0;) {
    if ((micro_batches - 1) * line[s].both() > (micro_batches - 1) * line[pivot].both() + between) {
      pivot = s;
      between = 0.0;
    } else {
      between += line[s].both();
    }
  }
  return pivot;
}

}  // namespace

double dapple_seconds(const Instance& instance, const Plan& plan) {
  const std::vector<LineStage> line = line_of(instance, plan);
  const auto micro_batches = static_cast<double>(plan.micro_batches);
  const std::size_t pivot = pivot_of(line, micro_batches);
  double ending = 0.0;
  double backward = 0.0;  // of the stages from s to the pivot
  double warm_up = 0.0;
  for (std::size_t s = pivot + 1; s-- > 0;) {
    warm_up += line[s].forward;
    backward += line[s].backward;
    ending = std::max(ending, line[s].all_reduce + backward);
  }
  double earlier = 0.0;  // backward of the stages between the pivot and s, which end before the
                         // pivot's
  for (std::size_t s = pivot + 1; s < line.size(); ++s) {
    ending = std::max(ending, line[s].all_reduce - earlier);
    earlier += line[s].backward;
  }
  return warm_up + (micro_batches - 1) * line[pivot].both() + ending;
}

}  // namespace pptrain
