#include "planners/frames/frame_costs.hpp"

#include <algorithm>

#include "base/infinity.hpp"
#include "cost/two_level_sum.hpp"
#include "planners/meshes/stage_mesh.hpp"

namespace pptrain {
namespace {

Stage stage_on(const Mesh& mesh, std::vector<Interval> samples) {
  Stage stage;
  stage.replicas = static_cast<int>(mesh.size());
  stage.tensor_parallel = static_cast<int>(mesh.front().size());
  stage.devices = mesh;
  stage.samples = std::move(samples);
  return stage;
}

std::vector<DeviceId> devices_of(const Mesh& mesh) {
  std::vector<DeviceId> devices;
  for (const auto& row : mesh) devices.insert(devices.end(), row.begin(), row.end());
  return devices;
}

double pass_seconds(const PassSums& times, int begin, int end) {
  const PassSeconds pass = times.of(begin, end);
  return pass.forward + pass.backward;
}

/// All-reduce of gradients without ZeRO, of many bytes, without what it takes for none.
StageKind::Collective two_levels(const Cluster& cluster, const Mesh& mesh) {
  if (mesh.size() == 1) return {};
  constexpr double many = 1e9;
  std::vector<DeviceId> sharing;
  for (const auto& row : mesh) sharing.push_back(row.front());
  const TwoLevelSum one = two_level_sum(cluster, sharing, many);
  const TwoLevelSum two = two_level_sum(cluster, sharing, 2.0 * many);
  return {std::max(two.within - one.within, two.across - one.across) / many, 0.0};
}

/// All-reduce in the slowest ring of those that divide the state.
StageKind::Collective slowest_ring(const StageLayout& layout) {
  constexpr double many = 1e9;
  StageKind::Collective slowest;
  for (const ReplicaSum& sum : layout.sums) {
    for (const ReplicaSum::Ring& ring : sum.within()) {
      const double latency = ring.seconds(0.0);
      const double per_byte = (ring.seconds(many) - latency) / many;
      if (per_byte > slowest.per_byte) slowest = {per_byte, latency};
    }
  }
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

double least_memory(const Cluster& cluster, const std::vector<int>& kinds) {
  double least = infinity;
  for (const int kind : kinds) least = std::min(least, cluster.device_kinds[static_cast<std::size_t>(kind)].memory);
  return least;
}

}  // namespace

const std::vector<double>& FrameTables::weight_seconds(const ReplicaGroup& group, int tensor_parallel) {
  const auto [entry, is_new] = weights_.try_emplace({group.kinds, tensor_parallel, group.samples});
  std::vector<double>& sums = entry->second;
  if (!is_new) return sums;
  sums.push_back(0.0);
  for (int l = 0; l < instance_.profile.num_layers(); ++l) {
    double most = 0.0;
    for (const int kind : group.kinds) {
      most = std::max(most, device_seconds(instance_, kind, l, tensor_parallel, group.samples).backward_weight);
    }
    sums.push_back(sums.back() + most);
  }
  return sums;
}

const std::vector<double>& FrameTables::update_seconds(int kind, int tensor_parallel) {
  const auto [entry, is_new] = updates_.try_emplace({kind, tensor_parallel});
  std::vector<double>& sums = entry->second;
  if (!is_new) return sums;
  const std::string& name = instance_.cluster.device_kinds[static_cast<std::size_t>(kind)].name;
  sums.push_back(0.0);
  for (int l = 0; l < instance_.profile.num_layers(); ++l) {
    sums.push_back(sums.back() + instance_.profile.update_seconds(l, name, tensor_parallel));
  }
  return sums;
}

namespace {

/// What a member holds of a layer for a micro-batch of `samples`, by the rows; nothing where they do not say it of all
/// layers.
std::optional<std::vector<LayerBytes>> layer_bytes(const Profile& profile, const std::string& device,
                                                   int tensor_parallel, double samples) {
  std::vector<LayerBytes> all;
  for (int l = 0; l < profile.num_layers(); ++l) {
    const std::optional<LayerBytes> bytes = profile.bytes(l, device, tensor_parallel, samples);
    if (!bytes) return std::nullopt;
    all.push_back(*bytes);
  }
  return all;
}

/// The closed form's bytes of each layer for a sample; passes have the profile's workspace beside them.
std::vector<LayerBytes> formula_bytes(const Profile& profile) {
  std::vector<LayerBytes> all;
  for (const ProfileLayer& layer : profile.layers) {
    LayerBytes& bytes = all.emplace_back();
    bytes.stored = layer.stored_bytes;
  }
  return all;
}

/// Sums over the layers. Full recomputation leaves repeated layers their input, and the others all that they store.
HeldSums held_sums(const Profile& profile, const std::vector<LayerBytes>& layers, double samples, bool by_rows) {
  HeldSums sums;
  for (std::vector<double>& stored : sums.stored) stored.push_back(0.0);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const double all = layers[l].stored / samples;
    const double input = l == 0 ? 0.0 : profile.layers[l - 1].output_bytes;
    const double again = profile.layers[l].repeated ? std::min(all, input) : all;
    const auto add = [&sums](Recompute recompute, double stored) {
      std::vector<double>& of = sums.stored[static_cast<std::size_t>(recompute)];
      of.push_back(of.back() + stored);
    };
    add(Recompute::none, all);
    add(Recompute::selective, all - layers[l].recomputed / samples);
    add(Recompute::full, again);
    const double workspace = by_rows ? layers[l].workspace / samples : profile.workspace_bytes_per_sample;
    sums.moment[0].push_back(workspace);
    sums.moment[1].push_back(workspace + (by_rows ? all - again : 0.0));
  }
  return sums;
}

}  // namespace

FrameTables::FrameTables(const Instance& instance) : instance_(instance), sums_(instance) {
  std::map<std::tuple<double, double, double, bool>, std::size_t> known;
  for (int l = 0; l < instance.profile.num_layers(); ++l) {
    const ProfileLayer& layer = instance.profile.layers[static_cast<std::size_t>(l)];
    const double input = l == 0 ? 0.0 : instance.profile.layers[static_cast<std::size_t>(l) - 1].output_bytes;
    const auto [entry, is_new] =
        known.try_emplace({layer.parameters, layer.stored_bytes, input, layer.repeated}, unlike_layers_.size());
    if (is_new) unlike_layers_.emplace_back(l, 0);
    ++unlike_layers_[entry->second].second;
  }
}

const HeldSums& FrameTables::held(int kind, int tensor_parallel, double samples) {
  const auto [entry, is_new] = held_.try_emplace({kind, tensor_parallel, samples});
  if (!is_new) return entry->second;
  const Profile& profile = instance_.profile;
  const std::string& name = instance_.cluster.device_kinds[static_cast<std::size_t>(kind)].name;
  const std::optional<std::vector<LayerBytes>> rows = layer_bytes(profile, name, tensor_parallel, samples);
  entry->second =
      rows ? held_sums(profile, *rows, samples, true) : held_sums(profile, formula_bytes(profile), 1.0, false);
  return entry->second;
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
}

void FrameCosts::add_kind(FrameTables& tables, int stage) {
  const Cluster& cluster = instance_.cluster;
  const StageLayout& layout = placed_.layout(placed_.layout_of(stage));
  const Mesh& mesh = placed_.mesh(stage);
  const int tensor = placed_.tensor(stage);
  if (layout.replicas.size() == 1) {
    samples_.push_back(even_division(micro_batch_, placed_.data(stage)));
  } else {
    const StageMesh shared(cluster, tensor, devices_of(mesh));
    samples_.push_back(*shared_samples(sums_, shared, micro_batch_, shares_));
  }
  StageKind& made = kinds_.emplace_back();
  ReplicaGroup slowest;
  double longest = -1.0;
  const std::vector<ReplicaGroup> groups = replica_groups(cluster, stage_on(mesh, samples_.back()));
  for (const ReplicaGroup& group : groups) {
    made.holders.push_back({group.samples, least_memory(cluster, group.kinds)});
    const double seconds = sums_.times(group, tensor, Recompute::none).total.back();
    if (seconds <= longest) continue;
    longest = seconds;
    slowest = group;
  }
  made.times[0] = &sums_.times(slowest, tensor, Recompute::none);
  made.times[1] = &sums_.times(slowest, tensor, Recompute::full);
  for (const int again : {0, 1}) {
    made.least[again] = made.times[again];
    if (groups.size() == 1) continue;
    std::vector<const PassSums*> all;
    for (const ReplicaGroup& group : groups) {
      all.push_back(&sums_.times(group, tensor, again != 0 ? Recompute::full : Recompute::none));
    }
    made.least[again] = &least_.emplace_back(least_of(all));
  }
  const auto most = std::max_element(
      groups.begin(), groups.end(), [](const ReplicaGroup& a, const ReplicaGroup& b) { return a.samples < b.samples; });
  made.held = &tables.held(most->kinds.front(), tensor, most->samples);
  made.weight = &tables.weight_seconds(slowest, tensor);
  made.update = &tables.update_seconds(slowest.kinds.front(), tensor);
  made.sum = two_levels(cluster, mesh);
  made.ring = slowest_ring(layout);
  made.tensor = tensor;
  made.sharers = layout.sharers;
}

void FrameCosts::find_pairs() {
  for (int s = 0; s + 1 < placed_.num_stages(); ++s) {
    std::vector<Pair>& pairs = pairs_.emplace_back();
    const Stage sender = stage_on(placed_.mesh(s), samples(s));
    const Stage receiver = stage_on(placed_.mesh(s + 1), samples(s + 1));
    const double slices = std::max(placed_.tensor(s), placed_.tensor(s + 1));  // members may send a part each
    for_each_pair(sender, receiver, [&](DeviceId a, DeviceId b, double whole) {
      const double samples = whole / slices;
      const Link link = instance_.cluster.path(a, b);
      const bool known = std::any_of(pairs.begin(), pairs.end(), [&](const Pair& pair) {
        return pair.samples >= samples && pair.link.bandwidth <= link.bandwidth && pair.link.latency >= link.latency;
      });
      if (!known) pairs.push_back({samples, link});
    });
  }
  pairs_.emplace_back();
}

void FrameCosts::find_uplinks() {
  const int stages = placed_.num_stages();
  std::map<std::pair<int, Uplink::Direction>, UplinkLoad> loads;
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
  for (const auto& [owner, load] : loads) {
    const auto covers = [](const UplinkLoad& a, const UplinkLoad& b) {
      return std::equal(a.seconds_per_byte.begin(), a.seconds_per_byte.end(), b.seconds_per_byte.begin(),
                        [](double x, double y) { return x >= y; });
    };
    if (std::any_of(uplinks_.begin(), uplinks_.end(), [&](const UplinkLoad& other) { return covers(other, load); })) {
      continue;
    }
    std::erase_if(uplinks_, [&](const UplinkLoad& other) { return covers(load, other); });
    uplinks_.push_back(load);
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

double FrameCosts::least_seconds(bool recomputes) const {
  const int layers = instance_.profile.num_layers();
  double speed = 0.0;
  for (int s = 0; s < placed_.num_stages(); ++s) speed += 1.0 / pass_seconds(*kind(s).times[recomputes], 0, layers);
  double spread = 0.0;  // of the whole model, each layer where it is fastest beside the others
  double longest = 0.0;
  for (int l = 0; l < layers; ++l) {
    double least = infinity;
    double part = infinity;
    for (const StageKind& kind : kinds_) {
      const PassSums& times = *kind.times[recomputes];
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
