#pragma once

#include <vector>

#include "planners/ask/planner.hpp"
#include "planners/frames/site.hpp"
#include "planners/meshes/layout.hpp"

namespace pptrain {

/// Stages that follow one another on a site, each of `data` replicas of degree `tensor`.
struct StageRun {
  int stages = 1;
  int data = 1;
  int tensor = 1;
  int devices() const { return stages * data * tensor; }  ///< devices of all its stages
};

/// A shape says which devices of a site form which stages: its runs take them in order. One run is
/// a uniform grid.
using Shape = std::vector<StageRun>;

int num_stages(const Shape& shape);

/// The shapes of a site that the restrictions allow and the model has layers and samples for: every
/// uniform grid, and where the site has nodes of several groups, every choice of a grid for each of
/// them (of up to eight devices two grids, one behind the other). Of more than `most_shapes` such
/// choices those with one degree for all, then those whose replicas differ by four times at most.
std::vector<Shape> shapes_of(const SearchSpace& space, const Site& site);
constexpr std::size_t most_shapes = 4096;

/// The meshes of the stages.
std::vector<DeviceRows> meshes_of(const Site& site, const Shape& shape);

/// Whether the profile has the degrees of the stages on all of their devices.
bool has_rows(const Instance& instance, const std::vector<DeviceRows>& meshes);

}  // namespace pptrain
