#include "planners/reference/random_instance.hpp"

#include <fmt/format.h>

#include <cmath>

#include "planners/reference/choices.hpp"

namespace pptrain::reference {

namespace {

/// How numbers are drawn: any, or small whole ones that tie often.
enum class Numbers { any, round };

double seconds(Choices& choices, Numbers numbers) {
  if (choices.one_in(12)) return 0.0;
  return numbers == Numbers::round ? choices.between(1, 3) : choices.real(0.1, 4.0);
}

Link random_link(Choices& choices, Numbers numbers) {
  if (numbers == Numbers::round)
    return {choices.of<double>({128, 256, 1024}), choices.of<double>({0, 0, 0.5})};
  return {std::exp(choices.real(std::log(30.0), std::log(20000.0))),
          choices.one_in(2) ? 0.0 : choices.real(0.0, 0.8)};
}

NodeGroup random_group(Choices& choices, Numbers numbers, int devices_left,
                       const std::vector<DeviceKind>& kinds) {
  NodeGroup group;
  group.num_devices = choices.between(1, devices_left);
  group.count = choices.between(1, devices_left / group.num_devices);
  group.kind = fmt::format("n{}", devices_left);
  group.device_kind = choices.of(kinds).name;
  if (group.num_devices > 1 || choices.one_in(2)) group.link = random_link(choices, numbers);
  group.uplink = random_link(choices, numbers);
  if (!choices.one_in(3))
    group.switch_name = choices.of<std::string>({"rack0", "rack1", "row0", "nowhere"});
  return group;
}

/// rack0 and rack1 below row0 or the root; each with or without an entry, each entry with or
/// without an uplink.
std::vector<Switch> random_switches(Choices& choices, Numbers numbers) {
  std::vector<Switch> switches;
  for (const std::string name : {"rack0", "rack1", "row0"}) {
    if (choices.one_in(4)) continue;
    Switch s = {name, {}, ""};
    if (!choices.one_in(3)) s.uplink = random_link(choices, numbers);
    if (name != "row0" && choices.one_in(2)) s.parent = "row0";
    switches.push_back(s);
  }
  return switches;
}

Cluster random_cluster(Choices& choices, Numbers numbers, const InstanceSize& size) {
  Cluster cluster;
  cluster.name = "random";
  const int num_kinds = choices.between(1, 3);
  for (int k = 0; k < num_kinds; ++k)
    cluster.device_kinds.push_back({fmt::format("k{}", k), 1e30, {}, 0.0});
  int left = choices.between(1, size.most_devices);
  while (left > 0) {
    cluster.groups.push_back(random_group(choices, numbers, left, cluster.device_kinds));
    left -= cluster.groups.back().num_devices * cluster.groups.back().count;
  }
  if (cluster.groups.size() == 1 && cluster.groups[0].count == 1 && choices.one_in(2))
    cluster.groups[0].uplink = {};
  cluster.switches = random_switches(choices, numbers);
  cluster.finish("random");
  return cluster;
}

/// Rows of one layer for (kind, degree): one to three in samples, whose times need not be
/// proportional.
void add_rows(ProfileLayer& layer, Choices& choices, Numbers numbers, const std::string& kind,
              int degree, const LayerSeconds& per_sample) {
  const int num_rows = numbers == Numbers::round ? 1 : choices.between(1, 3);
  double samples = choices.between(1, 2);
  for (int r = 0; r < num_rows; ++r) {
    const double scale =
        samples / degree * (numbers == Numbers::round ? 1.0 : choices.real(0.7, 1.3));
    ProfileRow row = {kind, degree, samples, {}, true};
    row.seconds = {scale * per_sample.forward, scale * per_sample.backward_input,
                   scale * per_sample.backward_weight};
    layer.rows.push_back(row);
    samples += choices.between(1, 4);
  }
}

ProfileLayer random_layer(Choices& choices, Numbers numbers) {
  ProfileLayer layer;
  const auto amount = [&](int zero_in, double most) {
    if (choices.one_in(zero_in)) return 0.0;
    return numbers == Numbers::round ? std::floor(most / 2.0) : choices.real(0.0, most);
  };
  layer.parameters = amount(8, 300.0);
  layer.output_bytes = amount(8, 400.0);
  layer.stored_bytes = amount(8, 1000.0);
  layer.tensor_parallel_allreduce_bytes = amount(2, 100.0);
  return layer;
}

/// The degrees above 1 that each kind has rows for.
std::vector<std::pair<std::string, int>> random_degrees(Choices& choices,
                                                        const std::vector<DeviceKind>& kinds) {
  std::vector<std::pair<std::string, int>> degrees;
  for (int n = 2; n <= 6; ++n) {
    if (choices.one_in(2)) continue;
    for (const DeviceKind& kind : kinds) {
      if (!choices.one_in(6)) degrees.emplace_back(kind.name, n);
    }
  }
  return degrees;
}

Profile random_profile(Choices& choices, Numbers numbers, const InstanceSize& size,
                       const Cluster& cluster) {
  Profile profile;
  profile.model = "random";
  if (choices.one_in(2))
    profile.bytes_per_parameter = {choices.real(0, 4), choices.real(0, 4), choices.real(0, 12)};
  std::vector<double> speeds;
  for (std::size_t k = 0; k < cluster.device_kinds.size(); ++k) {
    speeds.push_back(numbers == Numbers::round ? choices.between(1, 2) : choices.real(0.5, 3.0));
  }
  const auto degrees = random_degrees(choices, cluster.device_kinds);
  const int num_layers = choices.between(2, size.most_layers);
  for (int l = 0; l < num_layers; ++l) {
    ProfileLayer layer = l > 0 && numbers == Numbers::round && !choices.one_in(4)
                             ? profile.layers.back()
                             : random_layer(choices, numbers);
    layer.name = fmt::format("l{}", l);
    if (layer.rows.empty()) {
      const LayerSeconds work = {seconds(choices, numbers), seconds(choices, numbers),
                                 seconds(choices, numbers)};
      for (std::size_t k = 0; k < cluster.device_kinds.size(); ++k) {
        const std::string& kind = cluster.device_kinds[k].name;
        const LayerSeconds per_sample = {work.forward / speeds[k], work.backward_input / speeds[k],
                                         work.backward_weight / speeds[k]};
        add_rows(layer, choices, numbers, kind, 1, per_sample);
        for (const auto& [name, degree] : degrees) {
          if (name == kind) add_rows(layer, choices, numbers, kind, degree, per_sample);
        }
      }
    }
    profile.layers.push_back(layer);
  }
  return profile;
}

/// Memory such that a device holds between a tenth and all of the model with a few samples.
void cap_memory(RandomInstance& instance, Choices& choices) {
  const BytesPerParameter& bytes = instance.profile.bytes_per_parameter;
  double all = 1.0;
  for (const ProfileLayer& layer : instance.profile.layers) {
    all += (bytes.weight + bytes.gradient + bytes.optimizer) * layer.parameters;
    all += layer.stored_bytes * choices.between(1, 2);
  }
  const double least = 0.9 / instance.cluster.num_devices();
  for (DeviceKind& kind : instance.cluster.device_kinds)
    kind.memory = all * choices.real(least, 0.8);
  instance.cluster.finish("random");
  instance.capped = true;
}

}  // namespace

RandomInstance random_instance(std::uint64_t seed, const InstanceSize& size) {
  Choices choices(seed);
  const Numbers numbers = seed % 4 == 3 ? Numbers::round : Numbers::any;
  RandomInstance instance;
  instance.cluster = random_cluster(choices, numbers, size);
  instance.profile = random_profile(choices, numbers, size, instance.cluster);
  instance.global_batch_size = choices.of(size.batches);
  if (choices.between(1, 20) <= 11) cap_memory(instance, choices);
  return instance;
}

}  // namespace pptrain::reference
