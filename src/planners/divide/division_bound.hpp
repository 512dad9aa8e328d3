#pragma once

#include <limits>

#include "planners/divide/division_problem.hpp"

namespace pptrain {

/// What every division of a problem takes at least, term by term of AMP Eq. 4: a bound that takes
/// time in proportion to kinds of stages x layers.
/// - the slowest stage takes at least the longest layer, and what is left when the work is spread
/// over
///   all stages in proportion to their speed;
/// - each layer counts where it is fastest, each cut where the least crosses;
/// - some stage holds the largest layer, and some as many parameters as if all were shared out.
StageLabel bound_of(const DivisionProblem& problem);

/// Times above which a stage is not wanted.
struct StageCaps {
  double seconds = std::numeric_limits<double>::infinity();   ///< of t_i
  double gradient = std::numeric_limits<double>::infinity();  ///< of its all-reduce
};
inline bool obeys(const DivisionProblem& problem, const StageCaps& caps, int stage, int begin,
                  int end) {
  return problem.stage_seconds(stage, begin, end) <= caps.seconds &&
         problem.fits(stage, begin, end) &&
         problem.gradient_seconds(stage, begin, end) <= caps.gradient;
}

/// Whether the stages could take all layers within the caps and the memory if some of them could be
/// left out: necessary for a division, found in time proportional to stages + layers.
bool reaches_all_layers(const DivisionProblem& problem, const StageCaps& caps);

/// The bound with its two maxima raised as far as `reaches_all_layers` shows, up to a millionth;
/// `most` caps what is of interest.
StageLabel sharpened(const DivisionProblem& problem, StageLabel bound, const StageCaps& most);

}  // namespace pptrain
