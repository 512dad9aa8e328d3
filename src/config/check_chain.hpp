#pragma once

#include "config/config.hpp"

namespace pptrain {

class ChainLayer;

/// Refuses a chain of `[[model.layer]]` whose layers do not follow one another or whose dimensions
/// do not fit. Throws `Error` (exit code 2) with the place of the key to change. Part of
/// `check_config`.
void check_chain(const Config& config);

// The parts of `check_chain`, each defined beside the kinds of layers that it knows. They throw as
// `check_chain` does, for chains of three layers at least.

/// An embedding, blocks and an output.
void check_texts(const Config& config);
/// Feature maps, then dense layers, between images and classes.
void check_images(const Config& config);
/// Blocks and enlarging layers between latent numbers and pixels.
void check_drawing(const Config& config);
/// A block over a stream of `hidden` columns; `chain` is its layer.
void check_block(const ChainLayer& chain, const BlockConfig& block, std::int64_t hidden);

}  // namespace pptrain
