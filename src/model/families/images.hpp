#pragma once

#include <string>

#include "model/families/families.hpp"

/// What the families that read images share.
namespace pptrain {

/// Square images of `config.json` (`image_size`, `num_channels`), or of `job_side` pixels a side as
/// the job says it; of 224 where neither does (`job_side` is 0). A patch is a pixel. Sizes that
/// contradict each other or are too large throw `Error` (exit code 2).
ImageShape image_shape(const ConfigJson& config, std::int64_t job_side = 0);

/// The number of classes: entries of `id2label`, or `num_labels`, or transformers' 2. Two numbers
/// that differ throw `Error` (exit code 2).
std::int64_t num_classes(const ConfigJson& config);

}  // namespace pptrain
