#include "optim/optimizer.hpp"

#include <cmath>
#include <vector>

#include "optim/learning_rate.hpp"
#include "support/catch.hpp"

using namespace pptrain;

TEST_CASE("warm-up is linear and a cosine ends at the minimum") {
  OptimizerConfig optimizer;
  optimizer.learning_rate = 1e-3;
  LrSchedulerConfig scheduler;
  scheduler.name = "cosine";
  scheduler.warmup_steps = 5;
  scheduler.minimum = 1e-4;
  CHECK(learning_rate(optimizer, scheduler, 0, 20) == Approx(2e-4));
  CHECK(learning_rate(optimizer, scheduler, 4, 20) == Approx(1e-3));
  CHECK(learning_rate(optimizer, scheduler, 5, 20) == Approx(0.0009901664203302125).epsilon(1e-12));
  CHECK(learning_rate(optimizer, scheduler, 19, 20) == Approx(1e-4));
  scheduler.name = "linear";
  CHECK(learning_rate(optimizer, scheduler, 19, 20) == Approx(1e-4));
  CHECK(learning_rate(optimizer, scheduler, 9, 20) == Approx(1e-3 - 9e-4 / 3.0));
  scheduler.name = "constant";
  CHECK(learning_rate(optimizer, scheduler, 19, 20) == 1e-3);
}

TEST_CASE("clipping scales to the norm and leaves small gradients alone") {
  CHECK(clip_factor(0.5, 1.0) == 1.0);
  CHECK(clip_factor(4.0, 1.0) == Approx(1.0 / (4.0 + 1e-6)));
  CHECK(clip_factor(4.0, 0.0) == 1.0);
}

TEST_CASE("AdamW follows its formula in double over several steps and decays matrices only") {
  OptimizerConfig config;
  config.learning_rate = 1e-2;
  Arena arena;
  std::vector<float> weights(16, 1.0F);
  std::vector<float> gradients(16);
  const auto optimizer = make_optimizer(
      config,
      {{weights.data(), gradients.data(), {}, 8, true}, {weights.data() + 8, gradients.data() + 8, {}, 8, false}},
      arena, host_kernels());
  std::vector<double> expected(16, 1.0);
  std::vector<double> m(16, 0.0);
  std::vector<double> v(16, 0.0);
  for (int step = 0; step < 5; ++step) {
    for (int i = 0; i < 16; ++i) gradients[i] = static_cast<float>(0.1 * (i + 1) * (step % 2 == 0 ? 1 : -0.5));
    optimizer->step({step, 1e-2, 0.5});
    for (int i = 0; i < 16; ++i) {
      const double g = 0.5 * gradients[i];
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.95 * v[i] + 0.05 * g * g;
      if (i < 8) expected[i] *= 1.0 - 1e-2 * 0.1;
      const double t = step + 1.0;
      expected[i] -=
          1e-2 / (1.0 - std::pow(0.9, t)) * m[i] / (std::sqrt(v[i]) / std::sqrt(1.0 - std::pow(0.95, t)) + 1e-8);
      CHECK(weights[i] == Approx(expected[i]).epsilon(1e-6));
    }
  }
}
