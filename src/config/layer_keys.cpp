#include "config/layer_keys.hpp"

#include <algorithm>

namespace pptrain {

void visit_layer(KeyVisitor& v, LayerConfig& layer) {
  const std::vector<LayerConfig> all = layers_of_all_kinds();
  std::vector<std::string> names;
  for (const LayerConfig& one : all) names.push_back(one.name());
  std::string name = layer.name();
  v.name({"kind",
          "What the layer is. Of texts: an embedding, blocks, the output. Of images: images, "
          "convolutions and residual "
          "blocks, dense layers, classes. To draw images: latent numbers, blocks and what enlarges "
          "maps, pixels."},
         name, names);
  const auto named = std::find(names.begin(), names.end(), name);
  if (name != layer.name() && named != names.end())
    layer = all[static_cast<std::size_t>(named - names.begin())];
  std::visit([&v](auto& one) { visit(v, one); }, layer.kind);
}

}  // namespace pptrain
