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
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.samples < b.samples; });
  return rows;
}

/// A column of the rows at `samples`: linear between two rows, proportional through the nearest one outside.
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

Seconds device_seconds(const ProfileLayer& layer, const std::string& device, int degree, double samples) {
  const std::vector<ProfileRow> rows = rows_of(layer, device, degree);
  return {interpolate(rows, samples, [](const LayerSeconds& s) { return s.forward; }),
          interpolate(rows, samples, [](const LayerSeconds& s) { return s.backward_input; }) +
              interpolate(rows, samples, [](const LayerSeconds& s) { return s.backward_weight; })};
}

}  // namespace

bool costable(const Profile& profile, const Cluster& cluster, const Plan& plan) {
  for (const Stage& stage : plan.stages) {
    for (const auto& replica : stage.devices) {
      for (const DeviceId device : replica) {
        const double layers_without = sum_over_layers(stage, [&](int layer) {
          const std::string& kind = cluster.kind_of(device).name;
          return rows_of(profile.layers[layer], kind, stage.tensor_parallel).empty() ? 1.0 : 0.0;
        });
        if (layers_without > 0.0) return false;
      }
    }
  }
  return true;
}

Seconds layer_seconds(const Profile& profile, const Cluster& cluster, int layer, const std::vector<DeviceId>& members,
                      double samples) {
  const ProfileLayer& l = profile.layers[layer];
  const int degree = static_cast<int>(members.size());
  Seconds slowest = {-1.0, 0.0};
  for (const DeviceId device : members) {
    const Seconds seconds = device_seconds(l, cluster.kind_of(device).name, degree, samples);
    if (seconds.total() > slowest.total()) slowest = seconds;
  }
  if (l.tensor_parallel_allreduce_bytes > 0.0) {
    const double seconds = all_reduce(cluster, members, l.tensor_parallel_allreduce_bytes * samples);
    slowest.forward += seconds;
    slowest.backward += seconds;
  }
  return slowest;
}

std::vector<Seconds> replica_seconds(const Profile& profile, const Cluster& cluster, const Stage& stage) {
  std::vector<Seconds> result;
  for (int j = 0; j < stage.replicas; ++j) {
    const auto part = [&](double Seconds::*which) {
      return sum_over_layers(stage, [&](int layer) {
        return layer_seconds(profile, cluster, layer, stage.devices[j], samples_of(stage, j)).*which;
      });
    };
    result.push_back({part(&Seconds::forward), part(&Seconds::backward)});
  }
  return result;
}

double cut_seconds(const Profile& profile, const Cluster& cluster, const Stage& from, const Stage& to, int last_layer) {
  double largest = 0.0;
  for (const Transfer& t : transfers(from, to, profile.layers[last_layer].output_bytes)) {
    const Path way = path(cluster, t.from, t.to);
    largest = std::max(largest, 2.0 * (t.bytes / way.bandwidth + way.latency));
  }
  return largest;
}

double gradient_seconds(const Profile& profile, const Cluster& cluster, const Stage& stage) {
  const double parameters = sum_over_layers(stage, [&](int layer) { return profile.layers[layer].parameters; });
  const double bytes = profile.bytes_per_parameter.gradient * parameters / stage.tensor_parallel;
  double largest = 0.0;
  for (int shard = 0; shard < stage.tensor_parallel; ++shard) {
    largest = std::max(largest, all_reduce(cluster, shard_group(stage, shard), bytes));
  }
  return largest;
}

}  // namespace pptrain::reference
