#include <algorithm>
#include <cmath>

#include "base/infinity.hpp"
#include "planners/meshes/tiling.hpp"
#include "planners/published/amp/uniform_search.hpp"

namespace pptrain {
namespace {

/// AMP's Algorithm 2. A step keeps dp or tmp, draws the other one, a micro-batch size, a domino
/// tiling and an order of its dominoes as stages, and divides the layers exactly. A state that
/// takes d (as a part of the present time) longer is accepted with probability exp(-d / t); the
/// temperature t falls geometrically from 0.3 to 0.003.
class Annealing {
 public:
  explicit Annealing(const SearchSpace& space)
      : space_(space), problems_(space), mesh_(space.instance.cluster), draws_("amp-sa") {
    for (const Grid& grid : grids_of(space.instance.cluster.num_devices(), space.restrictions)) {
      if (why_not_in_space(grid, space.instance, space.restrictions).empty())
        grids_.push_back(grid);
    }
  }

  UniformCandidates search() {
    result_ = amp_candidates(space_, Breadth::best);
    drop_refused(space_, result_.found);
    if (grids_.empty()) return std::move(result_);
    grid_ = grids_.front();
    if (const UniformCandidate* best = best_candidate(result_.found)) {
      grid_ = best->grid;
      seconds_ = best_ = best->division.seconds;
    }
    const int steps = num_steps();
    for (int step = 0; step < steps; ++step) {
      if (space_.stop.requested()) {
        result_.complete = false;
        break;
      }
      take_step(first_temperature_ *
                std::pow(last_temperature_ / first_temperature_, 1.0 * step / steps));
    }
    std::stable_sort(result_.found.begin(), result_.found.end(), comes_first);
    if (best_ < infinity) result_.why_not.clear();
    return std::move(result_);
  }

 private:
  /// A step looks at every device.
  int num_steps() const {
    constexpr int most = 500;
    constexpr int least = 200;
    constexpr int most_devices = 500 * 1024;  // looked at altogether
    return std::clamp(most_devices / space_.instance.cluster.num_devices(), least, most);
  }

  static constexpr double first_temperature_ = 0.3;
  static constexpr double last_temperature_ = 0.003;

  /// A grid with the same dp, or with the same tmp.
  Grid neighbour() {
    const bool keeps_data = draws_.uniform() < 0.5;
    std::vector<Grid> neighbours;
    std::copy_if(grids_.begin(), grids_.end(), std::back_inserter(neighbours),
                 [&](const Grid& grid) {
                   return keeps_data ? grid.data == grid_.data : grid.tensor == grid_.tensor;
                 });
    return neighbours[draws_.below(neighbours.size())];
  }

  void take_step(double temperature) {
    const Grid grid = neighbour();
    const std::vector<std::int64_t> sizes = problems_.samples_of(grid);
    const std::int64_t samples = sizes[draws_.below(sizes.size())];
    const double most = seconds_ * (1.0 - temperature * std::log(1.0 - draws_.uniform()));
    const std::optional<std::vector<Domino>> tiling =
        sample_tiling(mesh_, grid.data, grid.tensor, draws_);
    if (!tiling) return;
    std::vector<DeviceRows> meshes;
    for (const Domino& domino : *tiling) meshes.push_back(devices_of(mesh_, domino, grid.tensor));
    order(meshes);
    const GridLayout layout = place(space_.instance.cluster, grid, meshes,
                                    space_.restrictions.zero_group.value_or(ZeroGroup::replicas));
    ++result_.num_examined;
    std::optional<Division> division =
        best_division(problems_.problem(layout, samples), most, space_.stop);
    if (!division) return;
    grid_ = grid;
    seconds_ = division->seconds;
    if (seconds_ >= best_ * (1.0 - tie_tolerance)) return;
    UniformCandidate candidate = {grid, samples, std::move(*division), seconds_, std::move(meshes)};
    if (space_.check != nullptr && is_refused(space_, plan_of(space_, candidate, ""))) return;
    best_ = seconds_;
    result_.found.push_back(std::move(candidate));
  }

  /// Stages in the order of the scan, against it, or from some domino on always to the nearest one.
  void order(std::vector<DeviceRows>& meshes) {
    const double kind = draws_.uniform();
    if (kind < 0.5) return;
    if (kind < 0.7) return std::reverse(meshes.begin(), meshes.end());
    std::swap(meshes.front(), meshes[draws_.below(meshes.size())]);
    for (std::size_t i = 1; i < meshes.size(); ++i) {
      const auto nearer = [&, from = meshes[i - 1].front().front()](const DeviceRows& a,
                                                                    const DeviceRows& b) {
        const Link to_a = space_.instance.cluster.path(from, a.front().front());
        const Link to_b = space_.instance.cluster.path(from, b.front().front());
        return to_a.bandwidth != to_b.bandwidth ? to_a.bandwidth > to_b.bandwidth
                                                : to_a.latency < to_b.latency;
      };
      std::iter_swap(meshes.begin() + i,
                     std::min_element(meshes.begin() + i, meshes.end(), nearer));
    }
  }

  const SearchSpace& space_;
  GridProblems problems_;
  DeviceMesh mesh_;
  Draws draws_;
  std::vector<Grid> grids_;
  Grid grid_;                  // of the present state
  double seconds_ = infinity;  // of the present state
  double best_ = infinity;
  UniformCandidates result_;
};

}  // namespace

UniformCandidates annealed_candidates(const SearchSpace& space) {
  return Annealing(space).search();
}

}  // namespace pptrain
