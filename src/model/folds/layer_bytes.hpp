#pragma once

namespace pptrain {

/// What one layer holds in one micro-batch, or for a sample of it, beside its state.
struct LayerBytes {
  double stored = 0.0;             ///< from the start of F to the end of B
  double deferred = 0.0;           ///< from the end of B to the end of W, where these are apart
  double workspace = 0.0;          ///< beyond what is stored, for a moment, in any of its passes
  double forward_workspace = 0.0;  ///< beyond what is stored, for a moment, in F
  double recomputed = 0.0;         ///< of what is stored, what selective recomputation makes again
};

}  // namespace pptrain
