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
  scheduler.kind = LrSchedule::cosine;
  scheduler.warmup_steps = 5;
  scheduler.minimum = 1e-4;
  CHECK(learning_rate(optimizer, scheduler, 0, 20) == Approx(2e-4));
  CHECK(learning_rate(optimizer, scheduler, 4, 20) == Approx(1e-3));
  CHECK(learning_rate(optimizer, scheduler, 5, 20) == Approx(0.0009901664203302125).epsilon(1e-12));
  CHECK(learning_rate(optimizer, scheduler, 19, 20) == Approx(1e-4));
  scheduler.kind = LrSchedule::linear;
  CHECK(learning_rate(optimizer, scheduler, 19, 20) == Approx(1e-4));
  CHECK(learning_rate(optimizer, scheduler, 9, 20) == Approx(1e-3 - 9e-4 / 3.0));
  scheduler.kind = LrSchedule::constant;
  CHECK(learning_rate(optimizer, scheduler, 19, 20) == 1e-3);
}

TEST_CASE("wsd is constant before it falls, and steps fall by a factor each") {
  OptimizerConfig optimizer;
  optimizer.learning_rate = 1e-3;
  LrSchedulerConfig scheduler;
  scheduler.kind = LrSchedule::wsd;
  scheduler.warmup_steps = 4;
  scheduler.decay_steps = 5;
  scheduler.minimum = 1e-4;
  const auto rate = [&](std::int64_t step) {
    return learning_rate(optimizer, scheduler, step, 20);
  };
  CHECK(rate(1) == Approx(5e-4));
  for (const std::int64_t step : {4, 10, 14}) CHECK(rate(step) == 1e-3);
  CHECK(rate(15) == Approx(1e-3 - 9e-4 / 5));
  CHECK(rate(18) == Approx(1e-3 - 9e-4 * 4 / 5));
  CHECK(rate(19) == Approx(1e-4));
  scheduler.kind = LrSchedule::step;
  scheduler.step_interval = 6;
  scheduler.step_factor = 0.5;
  CHECK(rate(3) == 1e-3);
  for (const std::int64_t step : {4, 9}) CHECK(rate(step) == 1e-3);
  for (const std::int64_t step : {10, 15}) CHECK(rate(step) == Approx(5e-4));
  CHECK(rate(16) == Approx(2.5e-4));
  scheduler.minimum = 4e-4;
  CHECK(rate(16) == 4e-4);
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
  const auto optimizer = make_optimizer(config,
                                        {{weights.data(), gradients.data(), {}, 8, true},
                                         {weights.data() + 8, gradients.data() + 8, {}, 8, false}},
                                        arena, host_backend());
  std::vector<double> expected(16, 1.0);
  std::vector<double> m(16, 0.0);
  std::vector<double> v(16, 0.0);
  for (int step = 0; step < 5; ++step) {
    for (int i = 0; i < 16; ++i)
      gradients[i] = static_cast<float>(0.1 * (i + 1) * (step % 2 == 0 ? 1 : -0.5));
    optimizer->step({step, 1e-2, 0.5});
    for (int i = 0; i < 16; ++i) {
      const double g = 0.5 * gradients[i];
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.95 * v[i] + 0.05 * g * g;
      if (i < 8) expected[i] *= 1.0 - 1e-2 * 0.1;
      const double t = step + 1.0;
      expected[i] -= 1e-2 / (1.0 - std::pow(0.9, t)) * m[i] /
                     (std::sqrt(v[i]) / std::sqrt(1.0 - std::pow(0.95, t)) + 1e-8);
      CHECK(weights[i] == Approx(expected[i]).epsilon(1e-6));
    }
  }
}

TEST_CASE("SGD keeps the sum of gradients, and Lion steps by signs") {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::lion}) {
    OptimizerConfig config;
    config.kind = kind;
    CAPTURE(config.name());
    config.momentum = 0.5;
    config.beta2 = 0.5;
    config.weight_decay = 0.0;
    for (const StatePlace place : {StatePlace::device, StatePlace::host}) {
      Arena arena;
      std::vector<float> weights(100, 1.0F);
      const std::vector<float> gradients(100, 2.0F);
      const auto optimizer =
          make_optimizer(config, {{weights.data(), gradients.data(), {}, 100, true}}, arena,
                         host_backend(), place);
      for (int step = 0; step < 2; ++step) optimizer->step({step, 0.25, 1.0});
      // Sums of 2 and 3; signs of gradients that stay.
      const float expected = kind == OptimizerKind::sgd ? 1.0F - 0.25F * 5.0F : 1.0F - 0.25F * 2.0F;
      for (const float weight : weights) CHECK(weight == Approx(expected));
      const std::vector<std::vector<RunState>> state = optimizer->state();
      REQUIRE(state.size() == 1);
      REQUIRE(state[0].size() == 1);
      CHECK(state[0][0].values[99] == Approx(kind == OptimizerKind::sgd ? 3.0 : 1.5));
    }
  }
}

TEST_CASE("AdamW with its state offloaded gives the same bits and says behind which run it is") {
  OptimizerConfig config;
  const std::vector<std::size_t> sizes = {1000, 1, 37, 4096, 16, 15, 700};
  std::vector<std::vector<float>> weights[2];
  std::vector<std::vector<float>> gradients;
  for (const std::size_t size : sizes) {
    for (auto& copy : weights) copy.emplace_back(size, 1.0F);
    gradients.emplace_back(size);
  }
  Arena arena;
  std::unique_ptr<Optimizer> optimizers[2];
  for (int k = 0; k < 2; ++k) {
    std::vector<ParameterRun> runs;
    for (std::size_t r = 0; r < sizes.size(); ++r) {
      runs.push_back({weights[k][r].data(), gradients[r].data(), {}, sizes[r], r % 2 == 0});
    }
    optimizers[k] = make_optimizer(config, runs, arena, host_backend(),
                                   k == 0 ? StatePlace::device : StatePlace::host);
  }
  const std::size_t resting = arena.bytes_in_use();
  arena.reset_peak();
  for (int step = 0; step < 4; ++step) {
    for (auto& run : gradients) {
      for (std::size_t i = 0; i < run.size(); ++i)
        run[i] = static_cast<float>(std::sin(7.0 * step + 0.3 * i));
    }
    for (const auto& optimizer : optimizers) {
      std::size_t done = 0;
      optimizer->step({step, 1e-2, 0.5}, [&](std::size_t run) { CHECK(run == done++); });
      CHECK(done == sizes.size());
    }
    CHECK(weights[0] == weights[1]);
  }
  const auto here = optimizers[0]->state();
  const auto there = optimizers[1]->state();
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    REQUIRE(here[r].size() == 2);
    for (std::size_t q = 0; q < here[r].size(); ++q) {
      CHECK(std::equal(here[r][q].values, here[r][q].values + sizes[r], there[r][q].values));
    }
  }
  // The state is 2 x 5904 values, each run on a cache line; a step holds two chunks of an eighth of
  // it.
  CHECK(arena.bytes_in_use() == resting);
  CHECK(arena.peak_bytes() - resting == 2 * 2 * 752 * sizeof(float));
}
