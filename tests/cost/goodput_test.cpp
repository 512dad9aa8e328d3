#include "cost/goodput.hpp"

#include <cmath>

#include "support/catch.hpp"

namespace pptrain {
namespace {

/// A failure every 6000 s, checkpoints of a minute, restarts of two.
constexpr FailingTraining training = {6000.0, 60.0, 120.0};

TEST_CASE("the best interval is Daly's, near Young's", "[cost][goodput]") {
  // sqrt(2 x 60 x 6000) = 848.5281; half = 60 / 12000 = 0.005; x (1 + 0.0707107 / 3 + 0.005 / 9)
  // - 60.
  CHECK(best_checkpoint_interval(training) == Approx(808.9994).epsilon(1e-6));
  // Checkpoints that take next to nothing: Young's term alone.
  CHECK(best_checkpoint_interval({1e8, 1.0, 0.0}) == Approx(std::sqrt(2e8)).epsilon(1e-3));
  // Checkpoints that take longer than two times the time between failures.
  CHECK(best_checkpoint_interval({100.0, 250.0, 0.0}) == 100.0);
}

TEST_CASE("goodput is what checkpoints, restarts and lost work leave", "[cost][goodput]") {
  // 500 / (6000 x e^0.02 x (e^(560 / 6000) - 1))
  CHECK(goodput(training, 500.0) == Approx(0.8349710).epsilon(1e-6));
  CHECK(goodput({1e12, 60.0, 120.0}, 540.0) == Approx(0.9).epsilon(1e-6));  // without failures:
                                                                            // checkpoints alone
}

TEST_CASE("no other interval loses much less than the best one", "[cost][goodput]") {
  const double best = best_checkpoint_interval(training);
  for (double factor = 0.25; factor < 4.0; factor *= 1.1) {
    CHECK(goodput(training, factor * best) <= goodput(training, best) * (1.0 + 1e-5));
  }
}

}  // namespace
}  // namespace pptrain
