#pragma once

#include <string>

namespace pptrain {

/// How far predictions of measured runs like this one were off.
struct ErrorBand {
  double relative = 0.0;  ///< mean of |predicted / measured - 1|
  int runs = 0;           ///< that were measured
  std::string of;  ///< what these have in common with what is predicted, "A100, like megatron"
};

}  // namespace pptrain
