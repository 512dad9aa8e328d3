#pragma once

namespace pptrain {

/// A training that fails now and then, goes back to its last checkpoint, and goes on. All in
/// seconds.
struct FailingTraining {
  double mtbf = 0.0;        ///< mean time between failures, which come independently of one another
  double checkpoint = 0.0;  ///< of writing one, while nothing is trained
  double restart = 0.0;     ///< from a failure until the job trains again
};

/// Seconds of training between two checkpoints that lose least.
/// Sources: J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart
/// dumps", Future Generation Computer Systems 22 (2006), Eq. 37; its first term is that of J. W.
/// Young, "A first order approximation to the optimum checkpoint interval", Communications of the
/// ACM 17 (1974).
double best_checkpoint_interval(const FailingTraining& training);

/// The part of the time that training goes on in, 0 to 1, with a checkpoint after every `interval`
/// seconds of it: what is left beside writing checkpoints, restarting, and training again what was
/// lost. Source: Daly, Eq. 20, for times between failures that are distributed exponentially.
double goodput(const FailingTraining& training, double interval);

}  // namespace pptrain
