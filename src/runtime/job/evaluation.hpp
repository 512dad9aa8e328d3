#pragma once

#include <string>

#include "data/dataset.hpp"
#include "runtime/execute/session.hpp"

namespace pptrain {

/// What the model makes of held-back data.
struct Evaluation {
  double loss = 0.0;  ///< mean over the targets of the samples that were taken
  std::string part;   ///< "8 of 12 batches" where [metrics] evaluation_batches limits it; else ""
  bool is_whole = false;           ///< whether all that was to be taken was
  StopWish stop = StopWish::none;  ///< other than none: some rank wants to stop
};

/// Evaluates all held-back samples, or so many global batches of them as `[metrics]
/// evaluation_batches` says. Each target counts once, so that the loss is the same on every grid
/// and by every size of batches but for rounding: a last batch that they do not fill is filled up
/// with samples that do not count. Breaks off where a rank wants to stop. Collective.
Evaluation evaluate(Session& session, const Dataset& held_back);

}  // namespace pptrain
