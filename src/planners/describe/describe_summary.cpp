#include "planners/describe/describe_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/names.hpp"
#include "base/screen.hpp"
#include "base/text_table.hpp"
#include "base/units.hpp"
#include "planners/describe/running_cost.hpp"

namespace pptrain {
namespace {

/// "about 9 %, as of 41 published runs on A100"
std::string band_text(const ErrorBand& band) {
  return fmt::format("about {:.0f} %, as of {} published runs: {}", 100.0 * band.relative,
                     band.runs, band.of);
}

std::string throughput_text(const SpeedPrediction& speed) {
  const std::string samples = fmt::format("{} samples/s", format_count(speed.samples_per_second));
  if (!speed.tokens_per_second) return samples;
  return fmt::format("{} tokens/s, {}", format_count(*speed.tokens_per_second), samples);
}

std::string flop_text(const SpeedPrediction& speed) {
  std::string text = fmt::format("{} per device", format_flop_rate(*speed.flop_per_second));
  if (speed.utilization) {
    text += fmt::format(", {} of the peak in {} (MFU)", format_percent(*speed.utilization),
                        speed.precision);
  }
  return speed.flop_source == "layers" ? text : text + " (6 FLOP per parameter and token)";
}

/// What drivers and libraries have of each device; "" where no kind has a reserve.
std::string reserve_text(const Prediction& prediction) {
  std::vector<std::string> parts;
  for (const KindPrediction& kind : prediction.kinds) {
    if (kind.reserve_bytes <= 0.0) continue;
    parts.push_back(fmt::format("{} of each {}", format_bytes(kind.reserve_bytes), kind.kind));
  }
  return parts.empty() ? "" : join(parts) + " for drivers and libraries";
}

/// A row for each kind: how many are used, what they do, and the part of their peak that model FLOP
/// reach.
void add_kinds(Rows& rows, const Prediction& prediction) {
  for (const KindPrediction& kind : prediction.kinds) {
    std::string text = fmt::format("{} of {} used", kind.used, kind.devices);
    const auto add = [&](const std::optional<double>& share, const char* what) {
      if (share) text += fmt::format(", {} {}", format_percent(*share), what);
    };
    add(kind.computing, "computing");
    add(kind.waiting, "waiting");
    add(kind.idle, "idle");
    if (prediction.kinds.size() > 1) add(kind.utilization, "MFU");
    rows.push_back({kind.kind, text});
  }
}

/// "300B": thousand millions of tokens go by B in the field.
std::string tokens_text(double tokens) {
  std::string text = format_count(tokens);
  if (text.ends_with('G')) text.back() = 'B';
  return text + " tokens";
}

void add_cost(Rows& rows, const Prediction& prediction) {
  const CostPrediction cost = prediction.cost.value_or(CostPrediction());
  if (const std::string text = cost_text(cost); !text.empty()) rows.push_back({"cost", text});
  const SpeedPrediction& speed = *prediction.speed;
  const bool with_failures = prediction.failures && prediction.failures->interval_steps > 0;
  if (cost.training) {
    rows.push_back({tokens_text(cost.training->tokens), training_text(cost, with_failures)});
  } else if (speed.training_tokens) {
    // A plan that was read from a file may say no more.
    rows.push_back({tokens_text(*speed.training_tokens), days_text(*speed.training_seconds)});
  }
}

std::vector<bool> used_devices(const Plan& plan, const Cluster& cluster) {
  std::vector<bool> used(static_cast<std::size_t>(cluster.num_devices()), false);
  for (const Stage& stage : plan.stages) {
    for (const auto& row : stage.devices) {
      for (const DeviceId device : row) used[device.index()] = true;
    }
  }
  return used;
}

/// A sentence that names what no stage uses; after a search it says that no faster plan with these
/// devices was found.
std::string left_out_text(const Plan& plan, const Cluster& cluster) {
  const std::vector<std::string> names = groups_left_out(plan, cluster);
  if (names.empty()) return "";
  const bool is_searched = plan.search_candidates > 0;
  const std::string text = is_searched
                               ? fmt::format("leave out {}: no plan that was found {} with them",
                                             join(names, " and "), better_text(plan))
                               : fmt::format("the plan leaves out {}", join(names, " and "));
  return "  " + wrapped(text, screen_columns() - 2, "  ") + "\n";
}

}  // namespace

std::vector<std::string> groups_left_out(const Plan& plan, const Cluster& cluster) {
  const std::vector<bool> used = used_devices(plan, cluster);
  std::vector<int> of_kind(cluster.device_kinds.size(), 0);
  std::vector<int> of_group(cluster.groups.size(), 0);
  std::vector<int> devices(cluster.device_kinds.size(), 0);
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const auto kind = static_cast<std::size_t>(cluster.kind_index_of(DeviceId(d)));
    ++devices[kind];
    if (!used[static_cast<std::size_t>(d)]) continue;
    ++of_kind[kind];
    ++of_group[static_cast<std::size_t>(cluster.group_of(DeviceId(d)))];
  }
  std::vector<std::string> names;
  for (std::size_t k = 0; k < devices.size(); ++k) {
    if (devices[k] > 0 && of_kind[k] == 0)
      names.push_back(fmt::format("the {} {}", devices[k], cluster.device_kinds[k].name));
  }
  for (std::size_t g = 0; g < cluster.groups.size(); ++g) {
    const NodeGroup& group = cluster.groups[g];
    const auto kind = static_cast<std::size_t>(cluster.kind_index_of_group(static_cast<int>(g)));
    if (of_group[g] > 0 || of_kind[kind] == 0) continue;
    names.push_back(group.count == 1 ? fmt::format("the node {}", group.kind)
                                     : fmt::format("the {} nodes {}", group.count, group.kind));
  }
  return names;
}

namespace {

ObjectiveKind objective_of(const Plan& plan) {
  return plan.predicted && plan.predicted->cost ? plan.predicted->cost->objective
                                                : ObjectiveKind::time;
}

}  // namespace

bool is_fastest(const Plan& plan) { return objective_of(plan) == ObjectiveKind::time; }

std::string better_text(const Plan& plan) {
  switch (objective_of(plan)) {
    case ObjectiveKind::time: return "is faster";
    case ObjectiveKind::cost: return "costs less";
    case ObjectiveKind::time_cost: return "has a smaller product of time and money";
  }
  return "";
}

std::string summary_text(const Plan& plan, const Cluster& cluster) {
  if (!plan.predicted || !plan.predicted->speed) return "";
  const Prediction& prediction = *plan.predicted;
  const SpeedPrediction& speed = *prediction.speed;
  Rows rows = {{"throughput", throughput_text(speed)}};
  if (!prediction.like.empty()) {
    rows.push_back(
        {"execution", fmt::format("times and memory are {}'s, not pptrain's", prediction.like)});
  }
  if (prediction.error_band) rows.push_back({"error", band_text(*prediction.error_band)});
  if (speed.flop_per_second) rows.push_back({"model FLOP/s", flop_text(speed)});
  if (prediction.failures) rows.push_back({"failures", failures_text(*prediction.failures)});
  add_cost(rows, prediction);
  if (const std::string reserve = reserve_text(prediction); !reserve.empty())
    rows.push_back({"reserved", reserve});
  add_kinds(rows, prediction);
  return align(rows) + left_out_text(plan, cluster);
}

}  // namespace pptrain
