#include "planners/describe/describe_alternatives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/names.hpp"
#include "base/text_table.hpp"
#include "base/units.hpp"

namespace pptrain {
namespace {

/// Planners and what their row says behind their names.
struct AlternativeRow {
  std::vector<std::string> planners;
  std::vector<std::string> cells;
};

std::vector<std::string> cells_of(const Alternative& other, const Plan& plan) {
  if (!other.feasible || !other.iteration_seconds)
    return {"-", "", "not possible: " + other.why_not};
  const double ratio =
      plan.predicted ? *other.iteration_seconds / plan.predicted->iteration_seconds : 1.0;
  return {format_seconds(*other.iteration_seconds), fmt::format("{:.2f} x", ratio), other.why_not};
}

}  // namespace

std::string alternatives_text(const Plan& plan) {
  constexpr std::size_t widest = 22;  // characters of a line of names, so that there is room for
                                      // reasons
  std::vector<AlternativeRow> groups;
  for (const Alternative& other : plan.alternatives) {
    std::vector<std::string> cells = cells_of(other, plan);
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const AlternativeRow& row) { return row.cells == cells; });
    if (same == groups.end()) {
      groups.push_back({{other.planner}, std::move(cells)});
    } else {
      same->planners.push_back(other.planner);
    }
  }
  Rows rows;
  for (const AlternativeRow& group : groups) {
    rows.push_back({wrapped(join(group.planners), widest)});
    rows.back().insert(rows.back().end(), group.cells.begin(), group.cells.end());
  }
  return align(rows);
}

std::string alternatives_in_short(const Plan& plan) {
  std::map<double, std::vector<std::string>> by_ratio;  // to two decimals
  std::vector<std::string> impossible;
  for (const Alternative& other : plan.alternatives) {
    if (other.feasible && other.iteration_seconds && plan.predicted) {
      const double ratio = *other.iteration_seconds / plan.predicted->iteration_seconds;
      by_ratio[std::round(100.0 * ratio)].push_back(other.planner);
    } else {
      impossible.push_back(other.planner);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [ratio, planners] : by_ratio)
    parts.push_back(fmt::format("{:.2f} x {}", ratio / 100.0, join(planners)));
  if (!impossible.empty()) parts.push_back("no plan: " + join(impossible));
  return join(parts, "; ");
}

}  // namespace pptrain
