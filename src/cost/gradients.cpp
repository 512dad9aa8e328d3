#include <algorithm>

#include "cost/replica_sum.hpp"
#include "cost/stage_time.hpp"

namespace pptrain {
namespace {

/// The backward pass of a part, layer by layer from the last one, beside the all-reduces: each
/// shard index is a group of its own that reduces one layer after another.
class OverlappedReduction {
 public:
  explicit OverlappedReduction(const Instance& instance) : instance_(instance) {}

  void pass(double seconds) { ready_ += seconds; }

  void pass(const StagePart& part) {
    const Stage& mesh = *part.mesh;
    ready_ += gather_seconds(instance_, part);
    const std::vector<ReplicaGroup> groups = replica_groups(instance_.cluster, part);
    std::vector<double> backward(groups.size(), ready_);
    const std::vector<ReplicaSum> sums = replica_sums(instance_.cluster, mesh);
    std::vector<double> loads;
    for (int shard = 0; shard < mesh.tensor_parallel; ++shard)
      loads.push_back(member_load(mesh, shard));
    std::vector<double> reduced(sums.size(), reduced_);
    for (auto layers = part.layers.rbegin(); layers != part.layers.rend(); ++layers) {
      for (std::int64_t layer = layers->end - 1; layer >= layers->begin; --layer) {
        for (std::size_t g = 0; g < groups.size(); ++g) {
          backward[g] += layer_seconds(instance_, groups[g], static_cast<int>(layer),
                                       part.computed_degree(), mesh.recompute, part.pattern)
                             .backward;
          ready_ = std::max(ready_, backward[g]);
        }
        const double bytes = sent_gradient_bytes(instance_.profile, mesh, {layer, layer + 1});
        for (std::size_t shard = 0; bytes > 0.0 && shard < sums.size(); ++shard) {
          reduced[shard] =
              std::max(reduced[shard], ready_) + sums[shard].seconds(loads[shard] * bytes);
        }
      }
    }
    reduced_ = *std::max_element(reduced.begin(), reduced.end());
  }

  double left() const { return std::max(0.0, reduced_ - ready_); }

 private:
  const Instance& instance_;
  double ready_ = 0.0;    // the gradients of the last layer that was passed
  double reduced_ = 0.0;  // the last all-reduce
};

}  // namespace

double gradient_bytes(const Profile& profile, const Stage& mesh, Interval layers) {
  return profile.bytes_per_parameter.gradient * parameters_of(profile, layers) /
         mesh.tensor_parallel;
}

double sent_gradient_bytes(const Profile& profile, const Stage& mesh, Interval layers) {
  return profile.bytes_per_parameter.sent() * parameters_of(profile, layers) / mesh.tensor_parallel;
}

double shards_all_reduce_seconds(const Cluster& cluster, const Stage& mesh, double bytes) {
  double slowest = 0.0;
  for (int shard = 0; shard < mesh.tensor_parallel; ++shard) {
    const double held = member_load(mesh, shard) * bytes;
    slowest = std::max(slowest, ReplicaSum(cluster, mesh, shard).seconds(held));
  }
  return slowest;
}

double gradient_seconds(const Instance& instance, const StageParts& parts) {
  double sum = 0.0;
  for (const StagePart& part : parts.all()) {
    double bytes = 0.0;
    for (const Interval& layers : part.layers)
      bytes += sent_gradient_bytes(instance.profile, *part.mesh, layers);
    sum += shards_all_reduce_seconds(instance.cluster, *part.mesh, bytes);
  }
  return sum;
}

double gradient_seconds_left(const Instance& instance, const StageParts& parts) {
  OverlappedReduction overlap(instance);
  for (auto part = parts.all().rbegin(); part != parts.all().rend(); ++part) {
    overlap.pass(*part);
    for (const StageParts::Boundary& boundary : parts.boundaries()) {
      if (boundary.layer != part->layers.front().begin) continue;
      overlap.pass(repartition_seconds(instance, boundary).backward);
    }
  }
  return overlap.left();
}

}  // namespace pptrain
