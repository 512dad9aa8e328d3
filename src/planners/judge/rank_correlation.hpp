#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planners/ask/planner.hpp"

namespace pptrain {

/// Spearman's rank correlation: Pearson's of the ranks, equal values sharing the mean of theirs.
/// Nothing where one side has fewer than two different values. Both sides are of one size.
std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

/// How the closed forms rank plans, compared with the simulator: what every planner finds, its
/// grids and random plans, each different one once, up to `most_correlated_tasks` tasks in all.
/// Forms: "amp", "dapple" and "pipedream".
RankCorrelations correlate_with_simulator(const SearchSpace& space);
constexpr double most_correlated_tasks = 2e6;

/// PipeDream's measure of a plan: the slowest stage with its all-reduce, or the slowest cut, for
/// every micro-batch.
double pipedream_seconds(const Instance& instance, const Plan& plan);

}  // namespace pptrain
