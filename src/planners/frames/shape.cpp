#include "planners/frames/shape.hpp"

#include <algorithm>

#include "planners/meshes/degrees.hpp"
#include "planners/meshes/grid.hpp"

namespace pptrain {
namespace {

bool allows(const AutoInt& fixed, int value) { return !fixed || *fixed == value; }

/// Numbers of devices in the order of the site that are of one group of nodes.
std::vector<int> runs_of(const Cluster& cluster, const Site& site) {
  std::vector<int> runs;
  int before = -1;
  for (const DeviceId device : site.devices) {
    const int group = cluster.group_of(device);
    if (group != before) runs.push_back(0);
    ++runs.back();
    before = group;
  }
  return runs;
}

/// Grids of one run of stages: the pipeline's length is restricted as a whole.
std::vector<StageRun> run_grids(const SearchSpace& space, int num_devices) {
  Restrictions fixed = space.restrictions;
  fixed.pipeline = std::nullopt;
  std::vector<StageRun> runs;
  for (const Grid& grid : grids_of(num_devices, fixed)) {
    if (grid.data <= space.instance.global_batch_size)
      runs.push_back({grid.pipeline, grid.data, grid.tensor});
  }
  return runs;
}

/// Shapes of one run of devices: a grid, and of few devices two of them one behind the other.
std::vector<Shape> run_shapes(const SearchSpace& space, int num_devices, bool divided) {
  std::vector<Shape> shapes;
  for (const StageRun& grid : run_grids(space, num_devices)) shapes.push_back({grid});
  for (int first = 1; divided && first < num_devices; ++first) {
    const std::vector<StageRun> behind = run_grids(space, num_devices - first);
    for (const StageRun& grid : run_grids(space, first)) {
      for (const StageRun& next : behind) {
        if (grid.data != next.data || grid.tensor != next.tensor) shapes.push_back({grid, next});
      }
    }
  }
  return shapes;
}

using Wanted = bool (*)(const Shape&, const StageRun&);

bool any_run(const Shape&, const StageRun&) { return true; }
bool same_degree(const Shape& shape, const StageRun& next) {
  return shape.empty() || shape.front().tensor == next.tensor;
}
bool alike(const Shape& shape, const StageRun& next) {
  constexpr int most_ratio = 4;
  return shape.empty() ||
         (shape.front().tensor == next.tensor && shape.back().data <= most_ratio * next.data &&
          next.data <= most_ratio * shape.back().data);
}

/// Every choice of a shape for each run that is wanted beside those before.
std::vector<Shape> choices(const std::vector<std::vector<Shape>>& runs, int most_stages,
                           Wanted wanted) {
  std::vector<Shape> shapes = {{}};
  for (const std::vector<Shape>& run : runs) {
    std::vector<Shape> longer;
    for (const Shape& shape : shapes) {
      for (const Shape& next : run) {
        if (num_stages(shape) + num_stages(next) > most_stages || !wanted(shape, next.front()))
          continue;
        longer.push_back(shape);
        longer.back().insert(longer.back().end(), next.begin(), next.end());
      }
    }
    shapes = std::move(longer);
  }
  return shapes;
}

bool is_uniform(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [&](const StageRun& run) {
    return run.data == shape.front().data && run.tensor == shape.front().tensor;
  });
}

}  // namespace

int num_stages(const Shape& shape) {
  int stages = 0;
  for (const StageRun& run : shape) stages += run.stages;
  return stages;
}

std::vector<Shape> shapes_of(const SearchSpace& space, const Site& site) {
  const int layers = space.instance.profile.num_layers();
  std::vector<Shape> shapes;
  for (const StageRun& run : run_grids(space, static_cast<int>(site.devices.size()))) {
    if (run.stages <= layers && allows(space.restrictions.pipeline, run.stages))
      shapes.push_back({run});
  }
  if (space.restrictions.uniform) return shapes;
  const std::vector<int> runs = runs_of(space.instance.cluster, site);
  constexpr std::size_t most_divided = 6;  // devices
  const bool divided = site.devices.size() <= most_divided;
  if ((runs.size() == 1 && !divided) || runs.size() > most_subset_groups) return shapes;
  std::vector<std::vector<Shape>> grids;
  for (const int devices : runs) grids.push_back(run_shapes(space, devices, divided));
  std::vector<Shape> unlike;
  for (const Wanted wanted : {any_run, same_degree, alike}) {
    unlike = choices(grids, layers, wanted);
    if (unlike.size() <= most_shapes) break;
  }
  std::erase_if(unlike, [&](const Shape& shape) {
    return is_uniform(shape) || !allows(space.restrictions.pipeline, num_stages(shape));
  });
  shapes.insert(shapes.end(), unlike.begin(), unlike.end());
  return shapes;
}

std::vector<DeviceRows> meshes_of(const Site& site, const Shape& shape) {
  std::vector<DeviceRows> meshes;
  auto next = site.devices.begin();
  for (const StageRun& run : shape) {
    for (int s = 0; s < run.stages; ++s) {
      DeviceRows& mesh = meshes.emplace_back();
      for (int j = 0; j < run.data; ++j, next += run.tensor)
        mesh.emplace_back(next, next + run.tensor);
    }
  }
  return meshes;
}

bool has_rows(const Instance& instance, const std::vector<DeviceRows>& meshes) {
  const Cluster& cluster = instance.cluster;
  const Degrees degrees(instance);
  for (const DeviceRows& mesh : meshes) {
    for (const auto& row : mesh) {
      for (const DeviceId device : row) {
        if (!degrees.has(cluster.kind_index_of(device), static_cast<int>(row.size()))) return false;
      }
    }
  }
  return true;
}

}  // namespace pptrain
