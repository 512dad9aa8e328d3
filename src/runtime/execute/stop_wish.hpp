#pragma once

namespace pptrain {

/// Whether a training should stop after the present iteration: asked to be started again later, or
/// ended by Ctrl-C. The later of two wishes wins.
enum class StopWish { none, requested, interrupted };

}  // namespace pptrain
