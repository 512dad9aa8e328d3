#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/names.hpp"
#include "base/screen.hpp"
#include "base/text_table.hpp"
#include "base/units.hpp"
#include "planners/describe/describe.hpp"
#include "planners/meshes/grid.hpp"

namespace pptrain {
namespace {

constexpr std::size_t most_rows = 8;

double peak_of(const Prediction& prediction) {
  const auto& peaks = prediction.peak_bytes;
  return peaks.empty() ? 0.0 : *std::max_element(peaks.begin(), peaks.end());
}

/// "6 6 7 7", the middle left out where there are many stages.
std::string layers_per_stage(const Plan& plan) {
  constexpr int most_stages = 12;
  std::string text;
  for (int i = 0; i < plan.num_stages(); ++i) {
    if (plan.num_stages() > most_stages && i == most_stages - 2) {
      text += " ...";
      i = plan.num_stages() - 1;
    }
    std::int64_t layers = 0;
    for (const Interval& chunk : plan.stages[i].layers) layers += chunk.size();
    text += fmt::format("{}{}", text.empty() ? "" : " ", layers);
  }
  return text;
}

std::vector<std::string> candidate_row(const GridCandidate& candidate) {
  const std::string grid = to_string(Grid{candidate.pipeline, candidate.data, candidate.tensor});
  const Plan& plan = *candidate.plan;
  return {grid,
          fmt::format("{} of {}", plan.micro_batches, plan.samples_per_micro_batch()),
          format_seconds(plan.predicted->iteration_seconds),
          format_bytes(peak_of(*plan.predicted)),
          format_percent(1.0 - plan.predicted->bubble_fraction),
          layers_per_stage(plan)};
}

/// ", schedule 1f1b": the plan itself may have another one.
std::string schedules_of(const std::vector<GridCandidate>& grids) {
  std::set<std::string> names;
  for (const GridCandidate& candidate : grids) {
    if (candidate.plan) names.insert(candidate.plan->schedule.name);
  }
  if (names.empty()) return "";
  return fmt::format(", {} {}", names.size() == 1 ? "schedule" : "schedules",
                     join({names.begin(), names.end()}));
}

/// Grids of which there is no plan, those for one reason together.
std::string impossible_text(const std::vector<GridCandidate>& grids) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const GridCandidate& candidate : grids) {
    if (candidate.plan) continue;
    const auto same = std::find_if(reasons.begin(), reasons.end(),
                                   [&](const auto& r) { return r.first == candidate.why_not; });
    auto& with = same == reasons.end()
                     ? reasons.emplace_back(candidate.why_not, std::vector<std::string>())
                     : *same;
    with.second.push_back(to_string(Grid{candidate.pipeline, candidate.data, candidate.tensor}));
  }
  std::string text;
  for (const auto& [reason, names] : reasons) {
    const std::size_t shown = std::min(names.size(), most_rows);
    const std::vector<std::string> first(names.begin(),
                                         names.begin() + static_cast<std::ptrdiff_t>(shown));
    const std::string more =
        names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "";
    text +=
        "  " +
        wrapped(fmt::format("{}{}: {}", join(first), more, reason), screen_columns() - 2, "    ") +
        "\n";
  }
  return text;
}

}  // namespace

std::string describe_candidates(const SearchResult& result, const Cluster& cluster) {
  Rows rows = {{"grid", "micro-batches", "iteration", "memory", "computing", "layers"}};
  std::size_t possible = 0;
  for (const GridCandidate& candidate : result.grids) {
    if (!candidate.plan) continue;
    if (++possible <= most_rows) rows.push_back(candidate_row(candidate));
  }
  std::string text = fmt::format("candidate grids for {} devices{}\n", cluster.num_devices(),
                                 schedules_of(result.grids)) +
                     align(rows);
  if (possible > most_rows) text += fmt::format("  ... and {} more\n", possible - most_rows);
  return text + impossible_text(result.grids);
}

}  // namespace pptrain
