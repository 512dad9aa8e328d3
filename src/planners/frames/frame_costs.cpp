#include "planners/frames/frame_costs.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/infinity.hpp"
#include "cost/collective.hpp"
#include "cost/shared_uplinks.hpp"
#include "cost/two_level_sum.hpp"
#include "planners/meshes/stage_mesh.hpp"
#include "simulate/phase_seconds.hpp"

namespace pptrain {
namespace {

Stage stage_on(const DeviceRows& mesh, std::vector<Interval> samples) {
  Stage stage;
  stage.replicas = static_cast<int>(mesh.size());
  stage.tensor_parallel = static_cast<int>(mesh.front().size());
  stage.devices = mesh;
  stage.samples = std::move(samples);
  return stage;
}

std::vector<DeviceId> devices_of(const DeviceRows& mesh) {
  std::vector<DeviceId> devices;
  for (const auto& row : mesh) devices.insert(devices.end(), row.begin(), row.end());
  return devices;
}

double pass_seconds(const PassSums& times, int begin, int end) {
  const PassSeconds pass = times.of(begin, end);
  return pass.forward + pass.backward;
}

/// The devices of each shard, over the replicas.
std::vector<std::vector<DeviceId>> columns_of(const DeviceRows& mesh) {
  std::vector<std::vector<DeviceId>> columns(mesh.front().size());
  for (const auto& row : mesh) {
    for (std::size_t k = 0; k < row.size(); ++k) columns[k].push_back(row[k]);
  }
  return columns;
}

/// Bandwidth that uplinks leave the rings of the mesh's columns; infinite where they pass none.
double bandwidth_between(const Instance& instance, const DeviceRows& mesh) {
  return instance.profile.communication.is_own()
             ? shared_uplink_bandwidth(instance.cluster, columns_of(mesh))
             : infinity;
}

/// All-reduce of gradients without ZeRO, of many bytes, without what it takes for none.
StageKind::Collective two_levels(const Cluster& cluster, const DeviceRows& mesh, double between) {
  if (mesh.size() == 1) return {};
  constexpr double many = 1e9;
  std::vector<DeviceId> sharing;
  for (const auto& row : mesh) sharing.push_back(row.front());
  const TwoLevelSum one = two_level_sum(cluster, sharing, many);
  const TwoLevelSum two = two_level_sum(cluster, sharing, 2.0 * many);
  const double alone = std::max(two.within - one.within, two.across - one.across) / many;
  return {alone, 0.0, all_reduce_share(one.nodes) / between};
}

/// All-reduce in the slowest ring of those that divide the state. Rings of all replicas have their
/// uplinks beside those of the other shards.
StageKind::Collective slowest_ring(const StageLayout& layout, int replicas, double between) {
  constexpr double many = 1e9;
  StageKind::Collective slowest;
  for (const ReplicaSum& sum : layout.sums) {
    for (const ReplicaSum::Ring& ring : sum.within()) {
      const double latency = ring.seconds(0.0);
      const double per_byte = (ring.seconds(many) - latency) / many;
      if (per_byte > slowest.per_byte) slowest = {per_byte, latency, 0.0};
    }
  }
  if (layout.sharers == replicas) slowest.shared_per_byte = all_reduce_share(replicas) / between;
  return slowest;
}

/// Sums over the first layers, each layer where it takes least.
PassSums least_of(const std::vector<const PassSums*>& all) {
  PassSums least = {{0.0}, {0.0}, {0.0}};
  for (std::size_t l = 1; l < all.front()->total.size(); ++l) {
    PassSeconds pass = {infinity, infinity, infinity};
    for (const PassSums* sums : all) {
      const PassSeconds own = sums->of(static_cast<int>(l) - 1, static_cast<int>(l));
      pass.forward = std::min(pass.forward, own.forward);
      pass.backward = std::min(pass.backward, own.backward);
      pass.total = std::min(pass.total, own.total);
    }
    least.forward.push_back(least.forward.back() + pass.forward);
    least.backward.push_back(least.backward.back() + pass.backward);
    least.total.push_back(least.total.back() + pass.total);
  }
  return least;
}

using LoadsByUplink = std::map<std::pair<int, Uplink::Direction>, FrameCosts::UplinkLoad>;

/// Loads that may be the busiest, equal ones once.
std::vector<FrameCosts::UplinkLoad> busiest(const LoadsByUplink& loads) {
  const auto covers = [](const FrameCosts::UplinkLoad& a, const FrameCosts::UplinkLoad& b) {
    return std::equal(a.seconds_per_byte.begin(), a.seconds_per_byte.end(),
                      b.seconds_per_byte.begin(), [](double x, double y) { return x >= y; });
  };
  std::vector<FrameCosts::UplinkLoad> all;
  for (const auto& entry : loads) {
    const FrameCosts::UplinkLoad& load = entry.second;
    if (std::any_of(all.begin(), all.end(), [&](const auto& other) { return covers(other, load); }))
      continue;
    std::erase_if(all, [&](const auto& other) { return covers(load, other); });
    all.push_back(load);
  }
  return all;
}

int num_nodes(const Cluster& cluster, const std::vector<DeviceId>& devices) {
  std::set<int> nodes;
  for (const DeviceId device : devices) nodes.insert(cluster.node_of(device));
  return static_cast<int>(nodes.size());
}

/// The holders of a stage, in the order of their first replicas.
void add_holders(const Cluster& cluster, const Stage& stage, StageKind& kind) {
  for (std::size_t j = 0; j < stage.devices.size(); ++j) {
    const auto samples = static_cast<double>(stage.samples[j].size());
    double memory = infinity;
    for (const DeviceId device : stage.devices[j])
      memory = std::min(memory, cluster.kind_of(device).memory);
    const auto same = std::find_if(kind.holders.begin(), kind.holders.end(),
                                   [&](const StageKind::Holder& holder) {
                                     return holder.samples == samples && holder.memory == memory;
                                   });
    kind.holder_of.push_back(static_cast<int>(same - kind.holders.begin()));
    if (same == kind.holders.end()) kind.holders.push_back({samples, memory, 0});
    ++kind.holders[static_cast<std::size_t>(kind.holder_of.back())].replicas;
  }
}

}  // namespace

StageKind::Holder StageKind::mean_holder() const {
  Holder mean;
  for (const Holder& holder : holders) {
    mean.samples += holder.replicas * holder.samples;
    mean.memory += holder.replicas * holder.memory;
    mean.replicas += holder.replicas;
  }
  mean.samples /= mean.replicas;
  mean.memory /= mean.replicas;
  return mean;
}

FrameCosts::FrameCosts(const Instance& instance, FrameTables& tables, const PlacedShape& placed,
                       std::int64_t micro_batch, const FrameCosts* other, Shares shares)
    : instance_(instance),
      tables_(tables),
      placed_(placed),
      sums_(tables.sums()),
      micro_batch_(micro_batch),
      shares_(shares) {
  for (int s = 0; s < placed.num_stages(); ++s) {
    if (placed.layout_of(s) == static_cast<int>(kinds_.size())) add_kind(tables, s);
  }
  if (other != nullptr && shares_evenly()) {
    take_links(*other);
  } else {
    find_pairs();
    find_uplinks();
    find_sums();
  }
}

bool FrameCosts::shares_evenly() const {
  return std::all_of(samples_.begin(), samples_.end(), [](const std::vector<Interval>& samples) {
    return samples.front().size() == samples.back().size() &&
           samples.back().end == samples.front().size() * std::ssize(samples);
  });
}

/// Pairs send samples in proportion to the micro-batch, and uplinks carry all samples in any case.
void FrameCosts::take_links(const FrameCosts& other) {
  pairs_ = other.pairs_;
  const double times = static_cast<double>(micro_batch_) / static_cast<double>(other.micro_batch_);
  for (std::vector<Pair>& pairs : pairs_) {
    for (Pair& pair : pairs) pair.samples *= times;
  }
  uplinks_ = other.uplinks_;
  summing_uplinks_ = other.summing_uplinks_;
  gathers_ = other.gathers_;
}

void FrameCosts::add_kind(FrameTables& tables, int number) {
  const Cluster& cluster = instance_.cluster;
  const StageLayout& layout = placed_.layout(placed_.layout_of(number));
  const DeviceRows& mesh = placed_.mesh(number);
  const int tensor = placed_.tensor(number);
  if (layout.replicas.size() == 1) {
    samples_.push_back(even_division(micro_batch_, placed_.data(number)));
  } else {
    const StageMesh shared(cluster, tensor, devices_of(mesh));
    samples_.push_back(*shared_samples(sums_, shared, micro_batch_, shares_));
  }
  StageKind& made = kinds_.emplace_back();
  ReplicaGroup slowest;
  double longest = -1.0;
  const Stage stage = stage_on(mesh, samples_.back());
  const double bandwidth =
      tensor_bandwidth(instance_, {&stage, {}, TensorPattern::megatron, &stage});
  std::vector<ReplicaGroup> groups = replica_groups(cluster, stage);
  for (ReplicaGroup& group : groups) {
    group.link.bandwidth = std::min(group.link.bandwidth, bandwidth);
    const double seconds = sums_.times(group, tensor, Recompute::none).total.back();
    if (seconds <= longest) continue;
    longest = seconds;
    slowest = group;
  }
  for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
    const auto r = static_cast<std::size_t>(recompute);
    made.times[r] = &sums_.times(slowest, tensor, recompute);
    made.least[r] = made.times[r];
    if (groups.size() == 1) continue;
    if (r > 0 && made.times[r] == made.times[0]) {
      made.least[r] = made.least[0];
      continue;
    }
    std::vector<const PassSums*> all;
    for (const ReplicaGroup& group : groups) all.push_back(&sums_.times(group, tensor, recompute));
    made.least[r] = &least_.emplace_back(least_of(all));
  }
  add_holders(cluster, stage, made);
  const auto most = std::max_element(
      groups.begin(), groups.end(),
      [](const ReplicaGroup& a, const ReplicaGroup& b) { return a.samples < b.samples; });
  made.held = &tables.held(most->kinds.front(), tensor, most->samples);
  made.weight = &tables.weight_seconds(slowest, tensor);
  made.update = &tables.update_seconds(slowest.kinds.front(), tensor);
  const double between = bandwidth_between(instance_, mesh);
  made.sum = two_levels(cluster, mesh, between);
  made.ring = slowest_ring(layout, static_cast<int>(mesh.size()), between);
  made.tensor = tensor;
  made.sharers = layout.sharers;
}

void FrameCosts::find_pairs() {
  for (int s = 0; s + 1 < placed_.num_stages(); ++s) {
    std::vector<Pair>& pairs = pairs_.emplace_back();
    const Stage sender = stage_on(placed_.mesh(s), samples(s));
    const Stage receiver = stage_on(placed_.mesh(s + 1), samples(s + 1));
    const double slices = std::max(placed_.tensor(s), placed_.tensor(s + 1));  // members may send a
                                                                               // part each
    for_each_pair(sender, receiver, [&](DeviceId a, DeviceId b, double whole) {
      const double samples = whole / slices;
      const Link link = instance_.cluster.path(a, b);
      const bool known = std::any_of(pairs.begin(), pairs.end(), [&](const Pair& pair) {
        return pair.samples >= samples && pair.link.bandwidth <= link.bandwidth &&
               pair.link.latency >= link.latency;
      });
      if (!known) pairs.push_back({samples, link});
    });
  }
  pairs_.emplace_back();
}

void FrameCosts::find_uplinks() {
  const int stages = placed_.num_stages();
  LoadsByUplink loads;
  const auto add = [&](DeviceId from, DeviceId to, int stage, double samples) {
    for (const Uplink& uplink : instance_.cluster.uplinks(from, to)) {
      UplinkLoad& load = loads[{uplink.owner, uplink.direction}];
      load.seconds_per_byte.resize(static_cast<std::size_t>(stages), 0.0);
      load.seconds_per_byte[static_cast<std::size_t>(stage)] += samples / uplink.link.bandwidth;
    }
  };
  for (int s = 0; stages > 1 && s < stages; ++s) {
    const int next = (s + 1) % stages;
    // Members of a replica may have a part each of what is sent: it crosses once at least.
    Stage sender = stage_on(placed_.mesh(s), samples(s));
    Stage receiver = stage_on(placed_.mesh(next), samples(next));
    sender.tensor_parallel = receiver.tensor_parallel = 1;
    for_each_pair(sender, receiver, [&](DeviceId a, DeviceId b, double each) {
      const double all = each * static_cast<double>(micro_batches());
      add(a, b, s, all);
      add(b, a, s, all);
    });
  }
  uplinks_ = busiest(loads);
}

void FrameCosts::find_sums() {
  const Cluster& cluster = instance_.cluster;
  gathers_.assign(static_cast<std::size_t>(placed_.num_stages()), 0.0);
  if (!instance_.profile.communication.is_own()) return;
  LoadsByUplink loads;
  UplinkShares gathering(cluster);
  for (int s = 0; s < placed_.num_stages(); ++s) {
    for (const std::vector<DeviceId>& ring : columns_of(placed_.mesh(s))) {
      gathering.add(ring);
      for (const Uplink& uplink : cluster.ring_uplinks(ring)) {
        UplinkLoad& load = loads[{uplink.owner, uplink.direction}];
        load.seconds_per_byte.resize(gathers_.size(), 0.0);
        load.seconds_per_byte[static_cast<std::size_t>(s)] +=
            all_reduce_share(num_nodes(cluster, ring)) / uplink.link.bandwidth;
      }
    }
  }
  summing_uplinks_ = busiest(loads);
  for (int s = 0; s < placed_.num_stages() && placed_.zero_group() == ZeroGroup::replicas; ++s) {
    const DeviceRows& mesh = placed_.mesh(s);
    for (const std::vector<DeviceId>& ring : columns_of(mesh)) {
      double& gather = gathers_[static_cast<std::size_t>(s)];
      gather = std::max(gather, 0.5 * all_reduce_share(static_cast<int>(mesh.size())) /
                                    gathering.bandwidth(ring));
    }
  }
}

double FrameCosts::cut_seconds(int stage, std::int64_t end) const {
  if (end >= instance_.profile.num_layers()) return 0.0;
  const double bytes = instance_.profile.layers[static_cast<std::size_t>(end) - 1].output_bytes;
  double seconds = 0.0;
  for (const Pair& pair : pairs_[static_cast<std::size_t>(stage)]) {
    seconds = std::max(seconds, pair.samples * bytes / pair.link.bandwidth + pair.link.latency);
  }
  return seconds;
}

double FrameCosts::least_seconds(Recompute recompute) const {
  const auto r = static_cast<std::size_t>(recompute);
  const int layers = instance_.profile.num_layers();
  double speed = 0.0;
  for (int s = 0; s < placed_.num_stages(); ++s)
    speed += 1.0 / pass_seconds(*kind(s).times[r], 0, layers);
  double spread = 0.0;  // of the whole model, each layer where it is fastest beside the others
  double longest = 0.0;
  for (int l = 0; l < layers; ++l) {
    double least = infinity;
    double part = infinity;
    for (const StageKind& kind : kinds_) {
      const PassSums& times = *kind.times[r];
      const double seconds = pass_seconds(times, l, l + 1);
      least = std::min(least, seconds);
      part = std::min(part, seconds / pass_seconds(times, 0, layers));
    }
    longest = std::max(longest, least);
    spread += part;
  }
  return static_cast<double>(micro_batches()) * std::max(spread / speed, longest);
}

}  // namespace pptrain
