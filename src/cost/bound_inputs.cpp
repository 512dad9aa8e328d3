#include "cost/bound_inputs.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "cost/stage_time.hpp"

namespace pptrain {
namespace {

/// Makes `best` at least as good as `link` in bandwidth and in latency; a link without bandwidth
/// limits nothing.
void improve(Link& best, const Link& link) {
  const double bandwidth =
      link.bandwidth > 0.0 ? link.bandwidth : std::numeric_limits<double>::infinity();
  best = best.bandwidth > 0.0
             ? Link{std::max(best.bandwidth, bandwidth), std::min(best.latency, link.latency)}
             : Link{bandwidth, link.latency};
}

std::vector<UsedKind> used_kinds(const Cluster& cluster) {
  std::vector<UsedKind> kinds;
  for (const NodeGroup& group : cluster.groups) {
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const UsedKind& k) { return k.name == group.device_kind; });
    if (kind == kinds.end()) {
      kind = kinds.insert(kind, UsedKind());
      kind->name = group.device_kind;
    }
    kind->devices += static_cast<double>(group.count) * group.num_devices;
    kind->largest_node = std::max(kind->largest_node, group.num_devices);
    if (group.num_devices > 1) improve(kind->inside, group.link);
    if (cluster.num_nodes() > 1) improve(kind->between, group.uplink);
  }
  return kinds;
}

/// Rows of the kinds in use with degrees that the cluster has devices for.
std::vector<DegreeRows> rows_of(const ProfileLayer& layer, const std::vector<UsedKind>& kinds,
                                int num_devices, Recompute recompute) {
  std::vector<const ProfileRow*> sorted;
  for (const ProfileRow& row : layer.rows) sorted.push_back(&row);
  std::sort(sorted.begin(), sorted.end(),
            [](const ProfileRow* a, const ProfileRow* b) { return a->samples < b->samples; });
  std::vector<DegreeRows> all;
  for (const ProfileRow* row : sorted) {
    const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const UsedKind& k) { return k.name == row->device; });
    if (kind == kinds.end() || row->tensor_parallel > num_devices) continue;
    const int index = static_cast<int>(kind - kinds.begin());
    auto same = std::find_if(all.begin(), all.end(), [&](const DegreeRows& r) {
      return r.kind == index && r.degree == row->tensor_parallel;
    });
    if (same == all.end())
      same = all.insert(same, DegreeRows{index, row->tensor_parallel, false, {}, {}, {}, {}});
    const double repeated = layer.again(row->seconds.forward, recompute);
    const double path = row->seconds.forward + row->seconds.backward_input;
    same->total.push_back({row->samples, row->seconds.total() + repeated});
    same->path.push_back(
        {row->samples, (row->split_known ? path : row->seconds.total()) + repeated});
  }
  for (DegreeRows& rows : all) {
    rows.mixed = std::any_of(all.begin(), all.end(), [&rows](const DegreeRows& other) {
      return other.degree == rows.degree && other.kind != rows.kind;
    });
  }
  return all;
}

/// Patterns, of those that cost.hpp knows, that no other one beats in both terms.
std::vector<LinearSeconds> collectives(const Profile& profile, int layer, int degree,
                                       const Link& link) {
  if (degree == 1) return {{}};
  std::vector<LinearSeconds> lines;
  for (const TensorPattern pattern :
       {TensorPattern::megatron, TensorPattern::sp1, TensorPattern::sp2}) {
    const auto seconds = [&](double samples) {
      const TensorSeconds both = tensor_seconds(profile, link, layer, degree, samples, pattern);
      return both.forward + both.backward;
    };
    const double per_sample = std::max(0.0, seconds(2.0) - seconds(1.0));
    lines.push_back({std::max(0.0, seconds(1.0) - per_sample), per_sample});
  }
  std::vector<LinearSeconds> best;
  for (const LinearSeconds& line : lines) {
    const auto beats = [&line](const LinearSeconds& other) {
      return &other != &line && other.seconds <= line.seconds &&
             other.per_sample <= line.per_sample &&
             (other.seconds < line.seconds || other.per_sample < line.per_sample || &other < &line);
    };
    if (std::none_of(lines.begin(), lines.end(), beats)) best.push_back(line);
  }
  return best;
}

/// All that a layer costs, as numbers in a row: those of equal layers are equal.
std::vector<double> cost_key(const EqualLayers& layer) {
  std::vector<double> key;
  const auto add_points = [&key](const std::vector<TimePoint>& points) {
    key.push_back(static_cast<double>(points.size()));
    for (const TimePoint& point : points) key.insert(key.end(), {point.samples, point.seconds});
  };
  const auto add_lines = [&key](const std::vector<LinearSeconds>& lines) {
    key.push_back(static_cast<double>(lines.size()));
    for (const LinearSeconds& line : lines) key.insert(key.end(), {line.seconds, line.per_sample});
  };
  for (const DegreeRows& rows : layer.rows) {
    key.insert(key.end(), {static_cast<double>(rows.kind), static_cast<double>(rows.degree)});
    add_points(rows.total);
    add_points(rows.path);
    add_lines(rows.inside);
    add_lines(rows.between);
  }
  return key;
}

EqualLayers one_layer(const Instance& instance, int l, std::optional<Recompute> recompute,
                      const std::vector<UsedKind>& kinds) {
  const Profile& profile = instance.profile;
  EqualLayers one;
  one.count = 1.0;
  one.rows = rows_of(profile.layers[l], kinds, instance.cluster.num_devices(),
                     recompute.value_or(Recompute::none));
  for (DegreeRows& rows : one.rows) {
    const UsedKind& kind = kinds[rows.kind];
    if (rows.degree <= kind.largest_node)
      rows.inside = collectives(profile, l, rows.degree, kind.inside);
    if (kind.between.bandwidth > 0.0 && rows.degree > 1) {
      rows.between = collectives(profile, l, rows.degree, kind.between);
    }
  }
  return one;
}

}  // namespace

std::vector<std::int64_t> micro_batch_counts(std::int64_t global_batch_size) {
  std::vector<std::int64_t> counts;
  for (std::int64_t m = 1; m <= global_batch_size / m; ++m) {
    if (global_batch_size % m != 0) continue;
    counts.push_back(m);
    if (m != global_batch_size / m) counts.push_back(global_batch_size / m);
  }
  std::sort(counts.begin(), counts.end());
  return counts;
}

std::vector<LinearSeconds> DegreeRows::tensor() const {
  std::vector<LinearSeconds> all = inside;
  for (const LinearSeconds& ring : between) {
    if (degree == 1) {
      all.push_back(ring);
      continue;
    }
    // Some node with at most half of the members gets at least half of what is gathered from the
    // others, and sends or gets all that is reduced: of (n-1)/n and 2 (n-1)/n of it for the ring.
    // One message at least.
    const double n = degree;
    all.push_back({ring.seconds / (2.0 * (n - 1.0)), ring.per_sample * n / (2.0 * (n - 1.0))});
  }
  return all;
}

std::vector<LinearSeconds> DegreeRows::tensor_work() const {
  std::vector<LinearSeconds> all = tensor();
  if (mixed && !between.empty()) all.push_back({});
  return all;
}

BoundInputs::BoundInputs(const Instance& instance, std::optional<Recompute> recompute)
    : kinds(used_kinds(instance.cluster)), num_devices(instance.cluster.num_devices()) {
  std::map<std::vector<double>, std::size_t> known;  // places in `layers`
  for (int l = 0; l < instance.profile.num_layers(); ++l) {
    EqualLayers one = one_layer(instance, l, recompute, kinds);
    const auto [entry, is_new] = known.try_emplace(cost_key(one), layers.size());
    if (is_new) {
      layers.push_back(std::move(one));
    } else {
      layers[entry->second].count += 1.0;
    }
  }
}

}  // namespace pptrain
