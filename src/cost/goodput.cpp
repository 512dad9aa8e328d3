#include "cost/goodput.hpp"

#include <cmath>

namespace pptrain {

double best_checkpoint_interval(const FailingTraining& training) {
  const double half = training.checkpoint / (2.0 * training.mtbf);
  if (half >= 1.0) return training.mtbf;
  const double young = std::sqrt(2.0 * training.checkpoint * training.mtbf);
  return young * (1.0 + std::sqrt(half) / 3.0 + half / 9.0) - training.checkpoint;
}

double goodput(const FailingTraining& training, double interval) {
  const double whole = (interval + training.checkpoint) / training.mtbf;
  return interval /
         (training.mtbf * std::exp(training.restart / training.mtbf) * std::expm1(whole));
}

}  // namespace pptrain
