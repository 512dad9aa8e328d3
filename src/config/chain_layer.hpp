#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "base/error.hpp"
#include "config/config.hpp"

namespace pptrain {

/// One layer of a chain that is checked, with what a message says of it.
class ChainLayer {
 public:
  /// Layer `index` of the configuration, which outlives this.
  ChainLayer(const Config& config, std::size_t index)
      : config_(config),
        layer_(config.model.layer[index]),
        place_(fmt::format("model.layer[{}]", index)) {}

  /// The layer as one of a kind that it has to be.
  template <class Wanted>
  const Wanted& as(const std::string& reason) const {
    if (const Wanted* layer = layer_.as<Wanted>()) return *layer;
    refuse("kind",
           fmt::format("{} is of the kind \"{}\", not \"{}\"", place_, layer_.name(), Wanted::name),
           reason,
           "a chain is an embedding, blocks, and an output; or images, convolutions and residual "
           "blocks, dense layers, "
           "and classes; or a latent layer, blocks and enlarging layers, and pixels");
  }

  /// Whether the layer is of this kind.
  template <class One>
  bool is() const {
    return layer_.is<One>();
  }

  /// Refuses (`Error`, exit code 2) the key of the layer.
  [[noreturn]] void refuse(const std::string& key, const std::string& problem,
                           const std::string& reason, const std::string& suggestion) const {
    const std::string full = place_ + "." + key;
    throw_bad_input({config_.where(config_.places.contains(full) ? full : place_), problem, reason,
                     suggestion});
  }

 private:
  const Config& config_;
  const LayerConfig& layer_;
  std::string place_;
};

}  // namespace pptrain
