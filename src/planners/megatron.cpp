#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "planners/balance.hpp"
#include "planners/uniform_search.hpp"

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
  explicit MegatronSearch(const SearchSpace& space) : space_(space), problems_(space) {
    for (const ProfileLayer& layer : space.instance.profile.layers) parameters_.push_back(layer.parameters);
    const int largest_tensor = smallest_node(space.instance.cluster);
    for (const Grid& grid : grids_of(space.instance.cluster.num_devices(), space.restrictions)) {
      if (grid.tensor > largest_tensor) continue;
      const std::string why_not = why_not_in_space(grid, space.instance, space.restrictions);
      if (why_not.empty()) {
        grids_.push_back(grid);
      } else {
        result_.why_not = fmt::format("{}: {}", to_string(grid), why_not);
      }
    }
    std::sort(grids_.begin(), grids_.end(), before);
  }

  UniformCandidates search() {
    std::set<std::int64_t> sizes;
    for (const Grid& grid : grids_) {
      for (const std::int64_t samples : problems_.samples_of(grid)) sizes.insert(samples);
    }
    for (const std::int64_t samples : sizes) choose_grid(samples);
    std::sort(result_.found.begin(), result_.found.end(), [](const UniformCandidate& a, const UniformCandidate& b) {
      return std::tie(a.grid, a.samples, a.division.layers) < std::tie(b.grid, b.samples, b.division.layers);
    });
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
    double nearest = std::numeric_limits<double>::infinity();
    for (const Grid& grid : grids_) {
      const Overrun overrun = overrun_of(problems_, grid, problems_.samples_of(grid).front());
      if (overrun.use >= nearest) continue;
      nearest = overrun.use;
      result_.why_not = overrun.use > 1.0 ? fmt::format("{}: {}", to_string(grid), overrun.text)
                                          : to_string(grid) + ": layers by count or parameters do not fit in memory";
    }
  }

  bool add_divisions(const Grid& grid, std::int64_t samples, const DivisionProblem& problem) {
    bool any = false;
    for (auto& layers : {even_division(problem.num_layers(), grid.pipeline), by_parameters(grid.pipeline)}) {
      if (!problem.fits(layers)) continue;
      const double seconds = problem.iteration_seconds(layers);
      result_.found.push_back({grid, samples, {layers, seconds}, seconds});
      any = true;
    }
    return any;
  }

  const std::vector<Interval>& by_parameters(int stages) {
    auto& division = by_parameters_[stages];
    if (division.empty()) division = balanced_division(parameters_, stages);
    return division;
  }

  const SearchSpace& space_;
  GridProblems problems_;
  std::vector<double> parameters_;
  std::vector<Grid> grids_;
  std::map<int, std::vector<Interval>> by_parameters_;
  UniformCandidates result_;
};

}  // namespace

UniformCandidates megatron_candidates(const SearchSpace& space) { return MegatronSearch(space).search(); }

}  // namespace pptrain
