#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "planners/remedy.hpp"
#include "planners/ruled.hpp"

namespace pptrain {
namespace {

int smallest_node(const Cluster& cluster) {
  int smallest = std::numeric_limits<int>::max();
  for (const NodeGroup& group : cluster.groups) smallest = std::min(smallest, group.num_devices);
  return smallest;
}

/// Megatron's order: as few devices per replica as possible, then the smaller tmp.
bool before(const Grid& a, const Grid& b) {
  const auto size = [](const Grid& grid) { return static_cast<std::int64_t>(grid.pipeline) * grid.tensor; };
  return size(a) != size(b) ? size(a) < size(b) : a.tensor < b.tensor;
}

/// Tries micro-batch sizes on grids in Megatron's order.
class MegatronSearch {
 public:
  explicit MegatronSearch(const SearchSpace& space)
      : space_(space), problems_(space), divisions_(space.instance.profile), grids_(grids_under(space.restrictions)) {
    std::erase_if(grids_, [this](const Grid& grid) {
      const std::string why_not = why_not_in_space(grid, space_.instance, space_.restrictions);
      if (!why_not.empty()) result_.why_not = fmt::format("{}: {}", to_string(grid), why_not);
      return !why_not.empty();
    });
    std::sort(grids_.begin(), grids_.end(), before);
  }

  UniformCandidates search() {
    std::set<std::int64_t> sizes;
    for (const Grid& grid : grids_) {
      for (const std::int64_t samples : problems_.samples_of(grid)) sizes.insert(samples);
    }
    for (const std::int64_t samples : sizes) {
      if (!result_.found.empty() && space_.stop.requested()) {
        result_.complete = false;
        break;
      }
      choose_grid(samples);
    }
    std::sort(result_.found.begin(), result_.found.end(), comes_first);
    if (grids_.empty() && result_.why_not.empty())
      result_.why_not = "no allowed degree of tensor parallelism is within a node";
    if (result_.found.empty()) {
      explain();
    } else {
      result_.why_not.clear();
    }
    return std::move(result_);
  }

 private:
  static constexpr DivisionRule rules_[] = {DivisionRule::by_count, DivisionRule::by_parameters};

  /// Those with tensor parallelism inside a node.
  std::vector<Grid> grids_under(const Restrictions& restrictions) const {
    std::vector<Grid> grids = grids_of(space_.instance.cluster.num_devices(), restrictions);
    const int most = smallest_node(space_.instance.cluster);
    std::erase_if(grids, [most](const Grid& grid) { return grid.tensor > most; });
    return grids;
  }

  /// The first grid that fits with this many samples per replica.
  void choose_grid(std::int64_t samples) {
    for (const Grid& grid : grids_) {
      const std::vector<std::int64_t> sizes = problems_.samples_of(grid);
      if (std::find(sizes.begin(), sizes.end(), samples) == sizes.end()) continue;
      ++result_.num_examined;
      if (add_divisions(grid, samples, problems_.problem(grid, samples))) return;
    }
  }

  /// The grid that comes nearest to fitting, with its smallest micro-batch.
  void explain() {
    NearestOverrun nearest;
    for (const Grid& grid : grids_) {
      for (const DivisionRule rule : rules_) {
        const std::int64_t samples = problems_.samples_of(grid).front();
        nearest.offer(grid, overrun_of(problems_, grid, samples, divisions_.of(rule, grid.pipeline)));
      }
    }
    if (!nearest.any()) return;
    const Fits fits = [this](const DivisionProblem& problem) {
      return std::any_of(std::begin(rules_), std::end(rules_),
                         [&](DivisionRule rule) { return problem.fits(divisions_.of(rule, problem.num_stages())); });
    };
    const auto grids = [this](const Restrictions& restrictions) { return grids_under(restrictions); };
    result_.why_not = nearest.text() + remedy(space_.restrictions, fits_on_grids(space_, grids, fits));
  }

  bool add_divisions(const Grid& grid, std::int64_t samples, const DivisionProblem& problem) {
    bool any = false;
    for (const DivisionRule rule : rules_) {
      const std::vector<Interval>& layers = divisions_.of(rule, grid.pipeline);
      if (!problem.fits(layers)) continue;
      const double seconds = problem.iteration_seconds(layers);
      result_.found.push_back({grid, samples, {layers, seconds}, seconds, {}});
      any = true;
    }
    return any;
  }

  const SearchSpace& space_;
  GridProblems problems_;
  RuledDivisions divisions_;
  std::vector<Grid> grids_;
  UniformCandidates result_;
};

}  // namespace

UniformCandidates megatron_candidates(const SearchSpace& space) { return MegatronSearch(space).search(); }

}  // namespace pptrain
