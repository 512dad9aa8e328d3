#include "planners/published/amp/uniform_search.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/infinity.hpp"
#include "base/units.hpp"
#include "planners/divide/division_bound.hpp"
#include "planners/divide/layer_balance.hpp"
#include "planners/published/amp/remedy.hpp"
#include "planners/published/amp/ruled.hpp"

namespace pptrain {
namespace {

constexpr const char* not_reached = "the search was ended before it came to this grid";

/// A grid with the micro-batch sizes with which it may fit.
struct GridSearch {
  struct Size {
    std::int64_t samples = 0;
    double bound = 0.0;  ///< Eq. 4 takes no less
  };

  Grid grid;
  std::vector<Size> sizes;  ///< least bound first
  double best = infinity;   ///< time of the best candidate found
  bool pruned = false;      ///< whether some size was left out for its bound

  double bound() const { return sizes.empty() ? infinity : sizes.front().bound; }
};

/// Searches grids and micro-batch sizes, those with the least bounds first.
class UniformSearch {
 public:
  UniformSearch(const SearchSpace& space, Breadth breadth)
      : space_(space), breadth_(breadth), problems_(space), rules_(space.instance.profile) {}

  UniformCandidates search(const GridsUnder& grids_under) {
    for (const Grid& grid : grids_under(space_.restrictions)) {
      std::string why_not = why_not_in_space(grid, space_.instance, space_.restrictions);
      if (why_not.empty() && stopped()) {
        leave_out(grid, not_reached);
      } else if (why_not.empty()) {
        grids_.push_back(bounded(grid));
        if (space_.stop.requested()) find_any(grids_.back());
      } else {
        leave_out(grid, why_not);
        if (result_.why_not.empty())
          result_.why_not = fmt::format("{}: {}", to_string(grid), why_not);
      }
    }
    search_best_first();
    if (breadth_ == Breadth::table) search_shown();
    for (const GridSearch& grid : grids_) {
      if (grid.best == infinity) leave_out(grid);
    }
    if (!result_.found.empty()) {
      result_.why_not.clear();
    } else if (nearest_.any()) {
      const Fits fits = [this](const DivisionProblem& problem) {
        return fits_somehow(problem, space_.stop);
      };
      const FitsUnder fits_under = fits_on_grids(space_, grids_under, fits);
      result_.why_not = nearest_.text() + remedy(space_.restrictions, fits_under, space_.stop);
    } else if (space_.stop.requested()) {
      result_.why_not = not_reached;
    }
    std::sort(result_.found.begin(), result_.found.end(), comes_first);
    return std::move(result_);
  }

 private:
  /// A larger micro-batch needs no less memory, so the rest need not be asked once one does not
  /// fit.
  GridSearch bounded(const Grid& grid) {
    GridSearch search = {grid, {}, infinity, false};
    for (const std::int64_t samples : problems_.samples_of(grid)) {
      ++result_.num_examined;
      const DivisionProblem problem = problems_.problem(grid, samples);
      if (!reaches_all_layers(problem, {})) break;
      search.sizes.push_back({samples, problem.form().seconds(bound_of(problem))});
    }
    std::stable_sort(
        search.sizes.begin(), search.sizes.end(),
        [](const GridSearch::Size& a, const GridSearch::Size& b) { return a.bound < b.bound; });
    return search;
  }

  /// Obeyed once there is something to return.
  bool stopped() {
    if (result_.found.empty() || !space_.stop.requested()) return false;
    result_.complete = false;
    return true;
  }

  /// Searches one size unless its bound is above `limit`. Returns its time, or infinity.
  double examine(GridSearch& grid, const GridSearch::Size& size, double limit) {
    std::optional<Division> division;
    if (size.bound <= limit * (1.0 + bound_slack)) {
      division = best_division(problems_.problem(grid.grid, size.samples), limit, space_.stop);
      const bool stopped = space_.stop.requested();
      if (stopped) result_.complete = false;
      if (!division && result_.found.empty() && stopped)
        division = simple_division(grid.grid, size.samples);
    }
    if (!division) {
      grid.pruned = grid.pruned || limit < infinity;
      return infinity;
    }
    const double seconds = division->seconds;
    grid.best = std::min(grid.best, seconds);
    result_.found.push_back({grid.grid, size.samples, std::move(*division), seconds, {}});
    return seconds;
  }

  /// Layers divided by a rule that needs no search, where they fit: what there is to return when
  /// the stop comes before anything was found.
  std::optional<Division> simple_division(const Grid& grid, std::int64_t samples) {
    const DivisionProblem problem = problems_.problem(grid, samples);
    for (const std::vector<Interval>& layers :
         {rules_.of(DivisionRule::by_parameters, grid.pipeline),
          rules_.of(DivisionRule::by_count, grid.pipeline), filled_division(problem)}) {
      if (problem.fits(layers)) return Division{layers, problem.iteration_seconds(layers)};
    }
    return std::nullopt;
  }

  /// A candidate of the grid that needs no search, where there is one.
  void find_any(GridSearch& grid) {
    for (const GridSearch::Size& size : grid.sizes) {
      std::optional<Division> division = simple_division(grid.grid, size.samples);
      if (!division) continue;
      grid.best = division->seconds;
      result_.found.push_back({grid.grid, size.samples, std::move(*division), grid.best, {}});
      return;
    }
  }

  void search_best_first() {
    std::vector<std::pair<GridSearch*, const GridSearch::Size*>> order;
    for (GridSearch& grid : grids_) {
      for (const GridSearch::Size& size : grid.sizes) order.emplace_back(&grid, &size);
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.second->bound < b.second->bound;
    });
    double best = infinity;
    for (const auto& [grid, size] : order) {
      if (stopped()) {
        grid->pruned = true;
        continue;
      }
      best =
          std::min(best, examine(*grid, *size, breadth_ == Breadth::everything ? infinity : best));
    }
  }

  /// The best candidate of the grids with the least bounds, for the table.
  void search_shown() {
    std::vector<GridSearch*> order;
    for (GridSearch& grid : grids_) order.push_back(&grid);
    std::stable_sort(order.begin(), order.end(), [](const GridSearch* a, const GridSearch* b) {
      return a->bound() < b->bound();
    });
    int shown = 0;
    for (GridSearch* grid : order) {
      if (shown == num_shown_grids || stopped()) break;
      if (grid->best == infinity) {
        for (const GridSearch::Size& size : grid->sizes) examine(*grid, size, grid->best);
      }
      if (grid->best < infinity) ++shown;
    }
  }

  void leave_out(const GridSearch& grid) {
    if (grid.pruned)
      return leave_out(grid.grid, fmt::format("at least {}", format_seconds(grid.bound())));
    const std::int64_t samples = problems_.samples_of(grid.grid).front();
    const DivisionProblem problem = problems_.problem(grid.grid, samples);
    const Overrun overrun =
        overrun_of(space_, grid.grid, problem, roomiest_division(problem, space_.stop));
    if (overrun.use <= 1.0) return leave_out(grid.grid, not_reached);
    leave_out(grid.grid, overrun.text);
    nearest_.offer(overrun);
  }

  void leave_out(const Grid& grid, const std::string& why_not) {
    result_.without.push_back({grid.pipeline, grid.data, grid.tensor, std::nullopt, why_not});
  }

  const SearchSpace& space_;
  Breadth breadth_;
  GridProblems problems_;
  RuledDivisions rules_;
  std::vector<GridSearch> grids_;
  UniformCandidates result_;
  NearestOverrun nearest_;
};

}  // namespace

bool comes_first(const UniformCandidate& a, const UniformCandidate& b) {
  return std::tie(a.grid, a.samples, a.division.layers) <
         std::tie(b.grid, b.samples, b.division.layers);
}

UniformCandidates amp_candidates(const SearchSpace& space, Breadth breadth) {
  if (space.check != nullptr) breadth = Breadth::everything;  // the best one may be refused
  const int devices = space.instance.cluster.num_devices();
  return UniformSearch(space, breadth).search([devices](const Restrictions& r) {
    return grids_of(devices, r);
  });
}

UniformCandidates data_parallel_candidates(const SearchSpace& space) {
  const Grid grid = {1, space.instance.cluster.num_devices(), 1};
  const auto grids_under = [grid](const Restrictions& restrictions) {
    std::vector<Grid> grids = grids_of(grid.data, restrictions);
    std::erase_if(grids, [&](const Grid& other) { return other != grid; });
    return grids;
  };
  UniformCandidates result = UniformSearch(space, Breadth::everything).search(grids_under);
  if (!grids_under(space.restrictions).empty()) return result;
  result.why_not = "the configuration asks for another grid";
  result.without.push_back({grid.pipeline, grid.data, grid.tensor, std::nullopt, result.why_not});
  return result;
}

const UniformCandidate* best_candidate(const std::vector<UniformCandidate>& candidates) {
  double least = infinity;
  for (const UniformCandidate& candidate : candidates)
    least = std::min(least, candidate.rank_seconds);
  for (const UniformCandidate& candidate : candidates) {
    if (candidate.rank_seconds <= least * (1.0 + tie_tolerance)) return &candidate;
  }
  return nullptr;
}

void drop_refused(const SearchSpace& space, std::vector<UniformCandidate>& candidates) {
  if (space.check == nullptr) return;
  const UniformCandidate* best = best_candidate(candidates);
  for (; best != nullptr && is_refused(space, plan_of(space, *best, ""));
       best = best_candidate(candidates)) {
    candidates.erase(candidates.begin() + (best - candidates.data()));
  }
}

Plan plan_of(const SearchSpace& space, const UniformCandidate& candidate,
             const std::string& planner) {
  const Grid& grid = candidate.grid;
  const std::int64_t global_batch = space.instance.global_batch_size;
  Plan plan = uniform_plan(
      candidate.division.layers, grid.data, grid.tensor, global_batch,
      micro_batch_of(grid, candidate.samples, global_batch, space.restrictions), space.schedule);
  const StageModes modes = modes_of(space.restrictions);
  for (int i = 0; i < plan.num_stages(); ++i) {
    plan.stages[i].recompute = modes.recompute;
    plan.stages[i].zero_stage = modes.zero_stage;
    if (!candidate.meshes.empty()) plan.stages[i].devices = candidate.meshes[i];
  }
  return finished_plan(space, std::move(plan), planner);
}

}  // namespace pptrain
