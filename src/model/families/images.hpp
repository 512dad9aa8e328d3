#pragma once

#include <string>

#include "model/families/families.hpp"
#include "model/layer_graph.hpp"

/// What the families that read images share. Networks of convolutions read them pixel by pixel, so that a feature map
/// has a row for each of them.
namespace pptrain {

/// Square images of `config.json` (`image_size`, `num_channels`), or of `job_side` pixels a side as the job says it; of
/// 224 where neither does (`job_side` is 0). A patch is a pixel. Sizes that contradict each other or are too large
/// throw `Error` (exit code 2).
ImageShape image_shape(const ConfigJson& config, std::int64_t job_side = 0);

/// A square feature map while a chain is written down.
struct FeatureMap {
  std::int64_t side = 0;
  std::int64_t channels = 0;

  Port port() const { return {side * side, channels}; }
  /// A square window over it. One that does not fit throws `Error` (exit code 2): `what` names it.
  Window window(const ConfigJson& config, const std::string& what, std::int64_t kernel, std::int64_t stride,
                std::int64_t padding) const;
};

/// A product with all pixels, for the deviation of its initial weights: torch's Linear has uniform ones up to
/// 1 / sqrt(inputs).
double uniform_deviation(std::int64_t inputs);

}  // namespace pptrain
