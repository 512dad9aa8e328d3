#include "sweeping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/names.hpp"
#include "base/parallel_for.hpp"
#include "cluster/node_prices.hpp"
#include "cluster/read.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "planners/what_if/sweep_files.hpp"
#include "planning.hpp"
#include "report/page.hpp"
#include "runtime/display/search_display.hpp"

namespace pptrain {
namespace {

using Kind = SweepAxis::Kind;

constexpr const char* no_value = "-";  ///< of an axis that says nothing of the point's cluster

/// The last part of a key: "recompute" of "parallelism.recompute".
std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

void check_batches(const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    const double number = value_number(value);
    if (number >= 1.0 && number == std::floor(number) && number < 2147483648.0) continue;
    throw_bad_input({"command line: --global-batch-size",
                     fmt::format("\"{}\" is no number of samples", shown(value)),
                     "it is no whole number of at least 1",
                     "write for instance --global-batch-size 64,128"});
  }
}

void check_precisions(const std::vector<std::string>& values) {
  const std::vector<std::string> known = {"fp32", "bf16", "fp16"};
  for (const std::string& value : values) {
    if (std::find(known.begin(), known.end(), value) != known.end()) continue;
    throw_bad_input({"command line: --precision",
                     fmt::format("unknown precision \"{}\"", shown(value)),
                     "known are " + join(known), "write for instance --precision bf16,fp32"});
  }
}

/// Clusters that a sweep names; the configuration's where the command line names none.
std::vector<Cluster> swept_clusters(const Options& options) {
  std::vector<Cluster> clusters;
  for (const std::string& name : options.clusters) clusters.push_back(read_cluster(name));
  if (!clusters.empty() || options.input.empty()) return clusters;
  Options without_values = options;
  without_values.overrides.clear();
  const Config config = planning_config(without_values);
  if (!ClusterConfig::is_discovered(config.cluster.file))
    clusters.push_back(read_cluster(config.cluster.file));
  return clusters;
}

/// Kinds of nodes, and with `devices` of devices, of all clusters.
std::vector<std::string> kinds_of(const std::vector<Cluster>& clusters, bool devices) {
  std::vector<std::string> kinds;
  for (const Cluster& cluster : clusters) {
    for (const std::string& kind : priced_kinds(cluster)) {
      const bool is_node = std::any_of(cluster.groups.begin(), cluster.groups.end(),
                                       [&](const NodeGroup& group) { return group.kind == kind; });
      if ((is_node || devices) && std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
        kinds.push_back(kind);
    }
  }
  return kinds;
}

/// The kind of node that a name means on one of the clusters.
std::string swept_kind(const std::string& text, const std::string& name,
                       const std::vector<Cluster>& clusters) {
  const std::vector<std::string> kinds = kinds_of(clusters, false);
  for (const std::string& kind : kinds) {
    if (means_node_kind(name, kind)) return kind;
  }
  refuse_unknown_kind("--nodes " + text, name, kinds);
}

std::vector<SweepAxis> nodes_axes(const Options& options, const std::vector<Cluster>& clusters) {
  std::vector<SweepAxis> axes;
  for (const std::string& text : options.swept_nodes) {
    const KeyValues given = key_values(text, "--nodes", "dgx-h100=1..8");
    const std::string kind = swept_kind(text, given.key, clusters);
    axes.push_back({Kind::nodes, kind, kind,
                    node_counts(given.values, "command line: --nodes " + shown(text))});
  }
  return axes;
}

std::vector<SweepAxis> setting_axes(const Options& options) {
  std::vector<SweepAxis> axes;
  for (const std::string& text : options.overrides) {
    const KeyValues given = key_values(text, "--set", "parallelism.recompute=none,full");
    axes.push_back({Kind::setting, last_part(given.key), given.key,
                    listed_values(given.values, "command line: --set " + shown(text))});
  }
  return axes;
}

std::vector<SweepAxis> price_axes(const Options& options, const std::vector<Cluster>& clusters) {
  std::vector<SweepAxis> axes;
  for (const std::string& text : options.prices) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    std::vector<std::string> prices;
    const std::string list = equals == std::string::npos ? text : text.substr(equals + 1);
    for (const std::string& price : listed_values(list, "command line: --price " + shown(text))) {
      const NodePrice read =
          parse_node_price(equals == std::string::npos ? text : name + "=" + price);
      const auto has = [&](Cluster cluster) { return set_node_price(cluster, read); };
      if (std::none_of(clusters.begin(), clusters.end(), has)) {
        refuse_unknown_kind("--price " + text, name, kinds_of(clusters, true));
      }
      prices.push_back(price);
    }
    axes.push_back({Kind::price, name + " price", name, prices});
  }
  return axes;
}

/// What the command line varies, or holds at one value: clusters, nodes, batches, precisions, other
/// keys, prices.
std::vector<SweepAxis> axes_of(const Options& options) {
  const std::vector<Cluster> clusters = swept_clusters(options);
  std::vector<SweepAxis> axes;
  const auto append = [&](std::vector<SweepAxis> more) {
    axes.insert(axes.end(), more.begin(), more.end());
  };
  if (!options.clusters.empty()) axes.push_back({Kind::cluster, "cluster", "", options.clusters});
  append(nodes_axes(options, clusters));
  if (!options.swept_batches.empty()) {
    axes.push_back({Kind::batch, "batch", "",
                    listed_values(options.swept_batches, "command line: --global-batch-size")});
    check_batches(axes.back().values);
  }
  if (!options.swept_precisions.empty()) {
    axes.push_back({Kind::setting, "precision", "training.precision",
                    listed_values(options.swept_precisions, "command line: --precision")});
    check_precisions(axes.back().values);
  }
  append(setting_axes(options));
  append(price_axes(options, clusters));
  return axes;
}

/// The command line of a point, as `pptrain plan` would have it.
Options options_of(const Options& options, const std::vector<SweepAxis>& axes,
                   const std::vector<std::string>& values) {
  Options point = options;
  point.overrides.clear();
  point.prices.clear();
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (values[a] == no_value) continue;
    switch (axes[a].kind) {
      case Kind::cluster: point.cluster = values[a]; break;
      case Kind::nodes: point.node_counts.emplace_back(axes[a].key, std::stoi(values[a])); break;
      case Kind::batch:
        point.global_batch_size = static_cast<std::int64_t>(value_number(values[a]));
        break;
      case Kind::setting: point.overrides.push_back(axes[a].key + "=" + values[a]); break;
      case Kind::price: point.prices.push_back(axes[a].key + "=" + values[a]); break;
    }
  }
  return point;
}

/// The point's cluster as it is named, before its numbers of nodes are set.
Cluster cluster_by_name(const Options& options) {
  return read_cluster(options.cluster.empty() ? planning_config(options).cluster.file
                                              : options.cluster);
}

/// Whether an axis says something of a cluster: of nodes and prices, whether it has that kind.
bool concerns(const SweepAxis& axis, const std::string& value, Cluster cluster) {
  if (axis.kind == Kind::price)
    return set_node_price(cluster, parse_node_price(axis.key + "=" + value));
  return axis.kind != Kind::nodes ||
         std::any_of(cluster.groups.begin(), cluster.groups.end(),
                     [&](const NodeGroup& group) { return group.kind == axis.key; });
}

/// Whether a point leaves any node of its cluster.
bool has_nodes(const Options& point, const Cluster& cluster) {
  return std::any_of(cluster.groups.begin(), cluster.groups.end(), [&](const NodeGroup& group) {
    const auto is_taken_out = [&](const auto& count) {
      return count.first == group.kind && count.second == 0;
    };
    return std::none_of(point.node_counts.begin(), point.node_counts.end(), is_taken_out);
  });
}

/// Hides what each point would say of itself again, from the second one on.
class QuietAfterFirst {
 public:
  QuietAfterFirst() = default;
  ~QuietAfterFirst() { set_verbosity(before_); }
  QuietAfterFirst(const QuietAfterFirst&) = delete;
  QuietAfterFirst& operator=(const QuietAfterFirst&) = delete;
  void next() { set_verbosity(Verbosity::quiet); }

 private:
  Verbosity before_ = verbosity();
};

SweepPoint point_of(const Options& options, const std::vector<std::string>& values) {
  PlanningJob job = planning_job(options);
  asked_work(options, job.config, job.profile);
  if (!job.config.parallelism.plan.empty()) {
    throw_bad_input({job.config.where("parallelism.plan"), "a sweep of a plan that is given",
                     "a sweep searches plans", "leave plan out, or use `pptrain plan` for it"});
  }
  return {values,
          std::move(job.config),
          std::move(job.cluster),
          std::move(job.profile),
          std::move(job.ties),
          std::move(job.planner),
          std::move(job.restrictions),
          options.training_tokens};
}

/// A point whose values contradict each other, as a micro-batch that does not divide the batch, has
/// the reason.
SweepPoint point_or_refusal(const Options& options, const std::vector<std::string>& values,
                            const Cluster& cluster) {
  try {
    return point_of(options, values);
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input) throw;
    SweepPoint refused;
    refused.values = values;
    refused.cluster = cluster;
    refused.refusal = error.what();
    return refused;
  }
}

std::vector<SweepPoint> points_of(const Options& options, const std::vector<SweepAxis>& axes) {
  std::vector<SweepPoint> points;
  QuietAfterFirst quiet;
  std::set<std::vector<std::string>> seen;
  for (std::vector<std::string> values : all_points(axes)) {
    const Cluster cluster = cluster_by_name(options_of(options, axes, values));
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (!concerns(axes[a], values[a], cluster)) values[a] = no_value;
    }
    const Options point = options_of(options, axes, values);
    if (!has_nodes(point, cluster) || !seen.insert(values).second) continue;
    points.push_back(point_or_refusal(point, values, cluster));
    quiet.next();
  }
  if (points.empty()) {
    throw_bad_input({"command line: --nodes", "no point has a node", "all numbers of nodes are 0",
                     "write for instance --nodes dgx-h100=1..8"});
  }
  return points;
}

/// The first point that can be planned; where there is none the first one's reason is thrown as bad
/// input.
const SweepPoint& first_planned(const std::vector<SweepPoint>& points) {
  for (const SweepPoint& point : points) {
    if (point.refusal.empty()) return point;
  }
  throw Error(ExitCode::bad_input, points.front().refusal);
}

/// Refuses a sweep without any plan: as bad input where all points are refused for the same reason.
void check_found(const Sweep& sweep) {
  if (sweep.has_plans()) return;
  const SweepRow& first = sweep.rows.front();
  const bool refused = std::all_of(sweep.rows.begin(), sweep.rows.end(),
                                   [](const SweepRow& row) { return row.is_refused; });
  if (refused) throw Error(ExitCode::bad_input, first.why_not);
  throw_no_feasible_plan(
      {"sweep", fmt::format("no plan fits at any of {} points", sweep.rows.size()), first.why_not,
       "use more or larger devices, a smaller model or a smaller batch"});
}

void check_files(const Options& options) {
  for (const std::string& path : {options.json, options.csv, options.report}) check_delivery(path);
}

}  // namespace

void run_sweep(const Options& options) {
  check_files(options);
  const std::vector<SweepAxis> axes = axes_of(options);
  const std::vector<SweepPoint> points = points_of(options, axes);
  const SweepPoint& first = first_planned(points);
  check_planner_name(first.planner, first.config.source);
  const int threads = static_cast<int>(
      std::min<std::int64_t>(options.threads.value_or(usable_cores()), usable_cores()));
  const InterruptEndsSearch interrupt;
  Sweep sweep;
  {
    SearchProgress progress;
    const SearchDisplay display(progress);
    sweep = run_sweep(axes, points, threads, [&progress](int done, int all) {
      progress.asks(fmt::format("{} of {} points done", done, all));
    });
  }
  check_found(sweep);
  if (!options.json.empty()) deliver(sweep_json(sweep), options.json);
  if (!options.csv.empty()) deliver(sweep_csv(sweep), options.csv);
  if (!options.report.empty())
    deliver(sweep_page(nlohmann::json::parse(sweep_json(sweep))), options.report);
  deliver(sweep_text(sweep), "");
}

}  // namespace pptrain
