#include "config/check_chain.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace pptrain {

void check_chain(const Config& config) {
  const std::vector<LayerConfig>& layers = config.model.layer;
  if (layers.size() < 3) {
    throw_bad_input({config.where("model.layer[0]"),
                     fmt::format("a chain of {} [[model.layer]]", layers.size()),
                     "it takes an embedding, a block and an output, or images, a convolution and "
                     "classes, or a latent "
                     "layer, a block and pixels, at least",
                     "write the others down too"});
  }
  if (layers.front().is<ImagesConfig>()) return check_images(config);
  if (layers.front().is<LatentConfig>()) return check_drawing(config);
  check_texts(config);
}

}  // namespace pptrain
