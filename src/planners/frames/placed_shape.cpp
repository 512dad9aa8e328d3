#include "planners/frames/placed_shape.hpp"

#include <algorithm>

namespace pptrain {

PlacedShape::PlacedShape(const Instance& instance, std::vector<DeviceRows> meshes,
                         ZeroGroup zero_group)
    : zero_group_(zero_group), meshes_(std::move(meshes)) {
  for (const DeviceRows& mesh : meshes_) {
    const Grid alone = {1, static_cast<int>(mesh.size()), static_cast<int>(mesh.front().size())};
    const StageLayout layout = place(instance.cluster, alone, {mesh}, zero_group).kinds.front();
    int index = 0;
    for (; index < num_layouts(); ++index) {
      const auto same = std::find(layout_of_.begin(), layout_of_.end(), index) - layout_of_.begin();
      const DeviceRows& other = meshes_[static_cast<std::size_t>(same)];
      if (layouts_[static_cast<std::size_t>(index)] == layout && other.size() == mesh.size() &&
          other.front().size() == mesh.front().size())
        break;
    }
    if (index == num_layouts()) layouts_.push_back(layout);
    layout_of_.push_back(index);
  }
}

int PlacedShape::most_data() const {
  const auto fewer = [](const DeviceRows& a, const DeviceRows& b) { return a.size() < b.size(); };
  return static_cast<int>(std::max_element(meshes_.begin(), meshes_.end(), fewer)->size());
}

}  // namespace pptrain
