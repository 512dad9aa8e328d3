#include <algorithm>

#include "planners/reference/cost.hpp"
#include "planners/reference/stages.hpp"

namespace pptrain::reference {

namespace {

/// Rows of (device kind, degree), by samples.
std::vector<ProfileRow> rows_of(const ProfileLayer& layer, const std::string& device, int degree) {
  std::vector<ProfileRow> rows;
  for (const ProfileRow& row : layer.rows) {
    if (row.device == device && row.tensor_parallel == degree) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.samples < b.samples; });
  return rows;
}

/// A column of the rows at `samples`: linear between two rows, proportional through the nearest one
/// outside.
template <class Column>
double interpolate(const std::vector<ProfileRow>& rows, double samples, Column column) {
  const ProfileRow& first = rows.front();
  const ProfileRow& last = rows.back();
  if (samples <= first.samples) return column(first.seconds) * samples / first.samples;
  if (samples >= last.samples) return column(last.seconds) * samples / last.samples;
  std::size_t above = 0;
  while (rows[above].samples < samples) ++above;
  const ProfileRow& low = rows[above - 1];
  const ProfileRow& high = rows[above];
  const double part = (samples - low.samples) / (high.samples - low.samples);
  return column(low.seconds) + part * (column(high.seconds) - column(low.seconds));
}

Seconds device_seconds(const ProfileLayer& layer, const std::string& device, int degree,
                       double samples) {
  const std::vector<ProfileRow> rows = rows_of(layer, device, degree);
  return {interpolate(rows, samples, [](const LayerSeconds& s) { return s.forward; }),
          interpolate(rows, samples, [](const LayerSeconds& s) { return s.backward_input; }) +
              interpolate(rows, samples, [](const LayerSeconds& s) { return s.backward_weight; })};
}

/// Seconds of the collectives of a tensor-parallel layer, by what its pattern says.
Seconds collective_seconds(const Profile& profile, const Cluster& cluster, int layer,
                           const std::string& pattern, const std::vector<DeviceId>& members,
                           double samples) {
  const double out = profile.layers[layer].output_bytes * samples;
  const double in = layer > 0 ? profile.layers[layer - 1].output_bytes * samples : 0.0;
  const bool first = layer == 0;
  const bool last = layer + 1 == profile.num_layers();
  if (pattern == "sp1") {
    return {last ? 0.0 : all_gather(cluster, members, out),
            first ? 0.0 : all_reduce(cluster, members, in)};
  }
  if (pattern == "sp2")
    return {all_reduce(cluster, members, out), first ? 0.0 : all_gather(cluster, members, in)};
  const double bytes = profile.layers[layer].tensor_parallel_allreduce_bytes * samples;
  if (bytes <= 0.0) return {};
  return {all_reduce(cluster, members, bytes), all_reduce(cluster, members, bytes)};
}

/// What ZeRO stage 3 gathers before F and before B of a part: the weights of its layers, over the
/// replicas of a group.
double gather_seconds(const Profile& profile, const Cluster& cluster, const Part& part) {
  const double parameters =
      sum_over_layers(part.layers, [&](int layer) { return profile.layers[layer].parameters; });
  double largest = 0.0;
  for (int shard = 0; shard < part.degree(); ++shard) {
    const double bytes =
        part.loads[shard] * profile.bytes_per_parameter.weight * parameters / part.degree();
    for (const Interval& group : part.groups) {
      largest = std::max(largest, all_gather(cluster, part.shard_group(shard, group),
                                             part.largest_slice() * bytes));
    }
  }
  return largest;
}

/// Largest number of samples of `after` that a device does not hold from `before`.
double samples_lacking(const Part& before, const Part& after) {
  double largest = 0.0;
  for (int b = 0; b < after.num_replicas(); ++b) {
    for (const DeviceId device : after.devices[b]) {
      for (int a = 0; a < before.num_replicas(); ++a) {
        const auto& row = before.devices[a];
        if (std::find(row.begin(), row.end(), device) == row.end()) continue;
        const auto kept = intersect(before.samples[a], after.samples[b]).size();
        largest = std::max(largest, static_cast<double>(after.samples[b].size() - kept));
      }
    }
  }
  return largest;
}

}  // namespace

bool costable(const Profile& profile, const Cluster& cluster, const Plan& plan) {
  for (const Stage& stage : plan.stages) {
    if (stage.tensor_parallel == 1 && stage.blocks.empty())
      continue;  // without these rows the instance is refused
    for (const Part& part : parts_of(stage)) {
      for (const auto& replica : part.devices) {
        for (const DeviceId device : replica) {
          const double layers_without = sum_over_layers(part.layers, [&](int layer) {
            const std::string& kind = cluster.kind_of(device).name;
            return rows_of(profile.layers[layer], kind, part.degree()).empty() ? 1.0 : 0.0;
          });
          if (layers_without > 0.0) return false;
        }
      }
    }
  }
  return true;
}

Seconds layer_seconds(const Profile& profile, const Cluster& cluster, int layer, const Part& part,
                      int replica) {
  const std::vector<DeviceId>& members = part.devices[replica];
  const double samples = part.num_samples(replica);
  const double forwards_in_backward = part.recompute == Recompute::full ? 1.0 : 0.0;
  Seconds slowest = {-1.0, 0.0};
  for (int k = 0; k < part.degree(); ++k) {
    const std::string& kind = cluster.kind_of(members[k]).name;
    Seconds seconds = device_seconds(profile.layers[layer], kind, part.degree(), samples);
    seconds = {part.loads[k] * seconds.forward, part.loads[k] * seconds.backward};
    seconds.backward += forwards_in_backward * seconds.forward;
    if (seconds.total() > slowest.total()) slowest = seconds;
  }
  const Seconds collective =
      collective_seconds(profile, cluster, layer, part.pattern, members, samples);
  return {slowest.forward + collective.forward,
          slowest.backward + collective.backward + forwards_in_backward * collective.forward};
}

std::vector<Seconds> replica_seconds(const Profile& profile, const Cluster& cluster,
                                     const Stage& stage, const Part& part) {
  const double gather = stage.zero_stage >= 3 ? gather_seconds(profile, cluster, part) : 0.0;
  std::vector<Seconds> result;
  for (int j = 0; j < part.num_replicas(); ++j) {
    Seconds seconds = {gather, gather};
    for (auto layer = part.layers.begin; layer < part.layers.end; ++layer) {
      const Seconds one = layer_seconds(profile, cluster, static_cast<int>(layer), part, j);
      seconds = {seconds.forward + one.forward, seconds.backward + one.backward};
    }
    result.push_back(seconds);
  }
  return result;
}

Seconds repartition_seconds(const Profile& profile, const Cluster& cluster, const Part& before,
                            const Part& after) {
  std::vector<DeviceId> devices;
  for (const auto& row : before.devices) devices.insert(devices.end(), row.begin(), row.end());
  const Path slowest = slowest_path(cluster, devices);
  const auto seconds = [&](double samples) {
    if (samples <= 0.0) return 0.0;
    return samples * profile.layers[before.layers.end - 1].output_bytes / slowest.bandwidth +
           slowest.latency;
  };
  return {seconds(samples_lacking(before, after)), seconds(samples_lacking(after, before))};
}

double stage_seconds(const Profile& profile, const Cluster& cluster, const Stage& stage) {
  const std::vector<Part> parts = parts_of(stage);
  double sum = 0.0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    double slowest = 0.0;
    for (const Seconds& s : replica_seconds(profile, cluster, stage, parts[p]))
      slowest = std::max(slowest, s.total());
    sum += slowest;
    if (p + 1 < parts.size())
      sum += repartition_seconds(profile, cluster, parts[p], parts[p + 1]).total();
  }
  return sum;
}

double cut_seconds(const Profile& profile, const Cluster& cluster, const Stage& from,
                   const Stage& to) {
  const Part last = parts_of(from).back();
  double largest = 0.0;
  for (const Transfer& t :
       transfers(last, parts_of(to).front(), profile.layers[last.layers.end - 1].output_bytes)) {
    const Path way = path(cluster, t.from, t.to);
    largest = std::max(largest, 2.0 * (t.bytes / way.bandwidth + way.latency));
  }
  return largest;
}

double gradient_seconds(const Profile& profile, const Cluster& cluster, const Stage& stage) {
  double sum = 0.0;
  for (const Part& part : parts_of(stage)) {
    const double parameters =
        sum_over_layers(part.layers, [&](int l) { return profile.layers[l].parameters; });
    const double bytes = profile.bytes_per_parameter.gradient * parameters / part.degree();
    double largest = 0.0;
    for (int shard = 0; shard < part.degree(); ++shard) {
      largest =
          std::max(largest, sum_over_replicas(cluster, part, shard, part.loads[shard] * bytes));
    }
    sum += largest;
  }
  return sum;
}

}  // namespace pptrain::reference
