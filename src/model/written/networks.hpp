#pragma once

#include <string>

#include "model/graph/blocks.hpp"
#include "model/written/trainable.hpp"

// What chains of `[[model.layer]]` share.
namespace pptrain {

/// The block that a layer says, over a stream of `hidden` columns.
BlockShape own_block(const BlockConfig& layer, std::int64_t hidden);

/// Weights whose products are added to the stream start smaller the more blocks there are (Radford
/// et al., "Language models are unsupervised multitask learners", 2019, section 2.3).
double stream_deviation(double deviation, std::int64_t num_blocks);

/// A chain of latent numbers, blocks, what enlarges maps and pixels, which `check_chain` has looked
/// at.
Model build_own_drawing(const ModelConfig& model, const TrainingConfig& training);

/// A chain of images, convolutions and residual blocks, dense layers and classes, which
/// `check_chain` has looked at.
Model build_own_images(const ModelConfig& model, const TrainingConfig& training);

}  // namespace pptrain
