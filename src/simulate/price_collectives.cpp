// The groups in which prices have collectives: gradients of chunks, and weights of those that are
// gathered.
#include <algorithm>

#include "cost/replica_sum.hpp"
#include "cost/stage_time.hpp"
#include "cost/two_level_sum.hpp"
#include "simulate/lanes.hpp"
#include "simulate/prices.hpp"
#include "simulate/runtime_rings.hpp"

namespace pptrain {
namespace {

/// What a ring takes that has its uplinks for itself, and what it sends over each of them.
struct RingPrice {
  double seconds = 0.0;
  std::vector<UplinkBytes> uplinks;

  /// The uplinks of a ring over the group, each passed by `bytes`.
  void pass(const Cluster& cluster, const std::vector<DeviceId>& group, double bytes) {
    if (bytes == 0.0) return;
    for (const Uplink& uplink : cluster.ring_uplinks(group)) uplinks.push_back({uplink, bytes});
  }
  /// The uplinks of another ring, passed by its bytes too.
  void pass(const RingPrice& other) {
    for (const UplinkBytes& passed : other.uplinks) {
      const auto same = std::find_if(uplinks.begin(), uplinks.end(), [&](const UplinkBytes& own) {
        return own.uplink.owner == passed.uplink.owner &&
               own.uplink.direction == passed.uplink.direction;
      });
      if (same == uplinks.end()) {
        uplinks.push_back(passed);
      } else {
        same->bytes += passed.bytes;
      }
    }
  }
  RingPrice times(double factor) && {
    seconds *= factor;
    for (UplinkBytes& passed : uplinks) passed.bytes *= factor;
    return std::move(*this);
  }
};

/// Gathers `bytes` over a group, in equal slices, or scatters the sums of as many.
RingPrice gather(const Instance& instance, const std::vector<DeviceId>& devices, double bytes) {
  RingPrice price;
  if (!instance.profile.communication.is_own()) {
    price.seconds = RuntimeRing(instance, devices).gather_seconds(bytes);
    return price;
  }
  price.seconds = 0.5 * all_reduce_seconds(instance.cluster, devices, bytes);
  price.pass(instance.cluster, devices,
             0.5 * all_reduce_share(static_cast<int>(devices.size())) * bytes);
  return price;
}

/// All-reduce of gradients over replicas of one shard: in two levels where ZeRO does not say who
/// has what, in two halves where it does.
RingPrice sum_up(const Instance& instance, const Stage& stage, const std::vector<DeviceId>& devices,
                 double bytes) {
  if (stage.zero_stage > 0)
    return gather(instance, devices, stage.largest_slice() * bytes).times(2.0);
  RingPrice price;
  if (!instance.profile.communication.is_own()) {
    price.seconds = RuntimeRing(instance, devices).all_reduce_seconds(bytes);
    return price;
  }
  const double elements = bytes / instance.profile.bytes_per_parameter.sent();
  const double buckets = elements / static_cast<double>(gradient_bucket_elements);
  const TwoLevelSum sum = two_level_sum(instance.cluster, devices, bytes);
  price.seconds = sum.seconds(std::max(1.0, buckets));
  price.pass(instance.cluster, devices, all_reduce_share(sum.nodes) * bytes);
  return price;
}

/// The sums of differently divided parts, one after another: each as long as on its slowest shard.
RingPrice sums_of_parts(const Instance& instance, const StageParts& parts) {
  RingPrice all;
  for (const StagePart& part : parts.all()) {
    double bytes = 0.0;
    for (const Interval& layers : part.layers)
      bytes += sent_gradient_bytes(instance.profile, *part.mesh, layers);
    double slowest = 0.0;
    for (int shard = 0; shard < part.mesh->tensor_parallel; ++shard) {
      const RingPrice price = sum_up(instance, *part.mesh, shard_group(*part.mesh, shard),
                                     member_load(*part.mesh, shard) * bytes);
      slowest = std::max(slowest, price.seconds);
      all.pass(price);
    }
    all.seconds += slowest;
  }
  return all;
}

void set_price(RingPrice price, PricedCollective& collective) {
  collective.seconds = price.seconds;
  collective.uplinks = std::move(price.uplinks);
}

/// Groups of several replicas for each that has programs: those to which a shift of the replicas
/// takes it.
double groups_for_each(const std::vector<Interval>& groups, int replicas) {
  const auto sum_something = [](const Interval& group) { return group.size() > 1; };
  const auto all = std::count_if(groups.begin(), groups.end(), sum_something);
  const auto some = std::count_if(groups.begin(), groups.end(), [&](const Interval& group) {
    return sum_something(group) && group.begin < replicas;
  });
  return some == 0 ? 1.0 : static_cast<double>(all) / static_cast<double>(some);
}

}  // namespace

std::vector<int> Prices::programs_of(const Stage& stage, int stage_index, Interval replicas,
                                     int shard) const {
  std::vector<int> programs;
  const Interval represented = intersect(replicas, {0, replicas_[stage_index]});
  for (std::int64_t r = represented.begin; r < represented.end; ++r) {
    programs.push_back(first_program_[stage_index] + static_cast<int>(r) * stage.tensor_parallel +
                       shard);
  }
  return programs;
}

/// One per shard index and group of replicas that have programs, beside those of the gradients.
void Prices::group_gathers(const Instance& instance, const Stage& stage, const Interval& layers,
                           int stage_index, ChunkId chunk) {
  const double bytes = instance.profile.bytes_per_parameter.weight *
                       parameters_of(instance.profile, layers) / stage.tensor_parallel;
  const std::vector<Interval> groups = stage.sharding_groups();
  const Lanes lanes = lanes_of(stage, first_lane_[stage_index]);
  for (int shard = 0; shard < stage.tensor_parallel; ++shard) {
    const double whole = member_load(stage, shard) * bytes;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].size() == 1 || groups[g].begin >= replicas_[stage_index]) continue;
      PricedCollective gather;
      gather.kind = PricedCollective::Kind::weights;
      gather.chunk = chunk;
      gather.lane = lanes.weights(shard, static_cast<int>(g));
      gather.stands_for = groups_for_each(groups, replicas_[stage_index]);
      set_price(pptrain::gather(instance, shard_group(stage, shard, groups[g]),
                                stage.largest_slice() * whole),
                gather);
      gather.programs = programs_of(stage, stage_index, groups[g], shard);
      for (const int program : gather.programs) {
        ChunkPrice& price = chunks_[index(program, chunk)];
        price.gather_group = static_cast<int>(reductions_.size());
        price.gathered_bytes = whole;
      }
      reductions_.push_back(std::move(gather));
    }
  }
}

/// One group per shard index and group of replicas, or the whole stage where parts of the chunk are
/// divided differently.
void Prices::group_reductions(const Instance& instance, const Stage& stage, const Interval& layers,
                              int stage_index, ChunkId chunk) {
  const StageParts parts(stage, {layers});
  const double bytes = sent_gradient_bytes(instance.profile, stage, layers);
  if (bytes == 0.0) return;
  if (divided_as_stage(parts, stage))
    return group_shards(instance, stage, bytes, stage_index, chunk);
  PricedCollective reduction;
  reduction.chunk = chunk;
  reduction.lane = lanes_of(stage, first_lane_[stage_index]).gradients(0, 0);
  RingPrice price = sums_of_parts(instance, parts);  // with stages 1 and 2 the weights of the next
                                                     // step too
  set_price(std::move(price).times(stage.zero_stage >= 2 ? 0.5 : 1.0), reduction);
  if (stage.zero_stage >= 2) {
    reduction.after_each_task = true;
    reduction.at_end = stage.zero_stage == 2;
  }
  for (int d = 0; d < stage.replicas * stage.tensor_parallel; ++d) {
    reduction.programs.push_back(first_program_[stage_index] + d);
    chunks_[index(reduction.programs.back(), chunk)].reduce_group =
        static_cast<int>(reductions_.size());
  }
  reductions_.push_back(std::move(reduction));
}

void Prices::group_shards(const Instance& instance, const Stage& stage, double bytes,
                          int stage_index, ChunkId chunk) {
  const std::vector<Interval> groups = stage.sharding_groups();
  const Lanes lanes = lanes_of(stage, first_lane_[stage_index]);
  for (int shard = 0; shard < stage.tensor_parallel; ++shard) {
    const double held = member_load(stage, shard) * bytes;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].size() == 1 || groups[g].begin >= replicas_[stage_index]) continue;
      PricedCollective reduction;
      reduction.chunk = chunk;
      reduction.lane = lanes.gradients(shard, static_cast<int>(g));
      // ZeRO scatters the sums, half an all-reduce, from stage 2 on after every W.
      RingPrice price = sum_up(instance, stage, shard_group(stage, shard, groups[g]), held);
      set_price(std::move(price).times(stage.zero_stage > 0 ? 0.5 : 1.0), reduction);
      reduction.stands_for = groups_for_each(groups, replicas_[stage_index]);
      reduction.after_each_task = stage.zero_stage >= 2;
      reduction.at_end = stage.zero_stage <= 1;
      reduction.programs = programs_of(stage, stage_index, groups[g], shard);
      const ChunkPrice& first = chunks_[index(reduction.programs.front(), chunk)];
      const double backward = first.task(Phase::backward).seconds;
      reduction.seconds = seconds_left(instance.profile.communication, reduction.seconds, backward,
                                       first.num_layers);
      for (const int program : reduction.programs) {
        chunks_[index(program, chunk)].reduce_group = static_cast<int>(reductions_.size());
      }
      reductions_.push_back(std::move(reduction));
    }
    if (groups.size() > 1) add_across(instance, stage, held, stage_index, shard, chunk);
  }
}

/// Slices are summed between the groups when the groups have summed them for the last time.
void Prices::add_across(const Instance& instance, const Stage& stage, double bytes, int stage_index,
                        int shard, ChunkId chunk) {
  const Lanes lanes = lanes_of(stage, first_lane_[stage_index]);
  PricedCollective across;
  across.chunk = chunk;
  across.lane = lanes.across(shard);
  for (int g = 0; g < lanes.groups; ++g) across.behind.push_back(lanes.gradients(shard, g));
  RingPrice price;
  price.seconds = ReplicaSum(instance.cluster, stage, shard).across_seconds(bytes);
  std::vector<DeviceId> leaders;
  for (const Interval& group : stage.sharding_groups())
    leaders.push_back(stage.devices[group.begin][shard]);
  if (instance.profile.communication.is_own()) {
    price.pass(instance.cluster, leaders,
               all_reduce_share(static_cast<int>(leaders.size())) * bytes);
  }
  set_price(std::move(price), across);
  across.programs = programs_of(stage, stage_index, {0, stage.replicas}, shard);
  for (const int program : across.programs) {
    chunks_[index(program, chunk)].across_group = static_cast<int>(reductions_.size());
  }
  reductions_.push_back(std::move(across));
}

}  // namespace pptrain
