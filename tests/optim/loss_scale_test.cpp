#include "optim/loss_scale.hpp"

#include "support/catch.hpp"

using namespace pptrain;

namespace {

TrainingConfig training(Precision precision, std::optional<double> loss_scale = {}) {
  TrainingConfig config;
  config.precision = precision;
  config.loss_scale = loss_scale;
  return config;
}

}  // namespace

TEST_CASE("a dynamic loss scale halves where a step is skipped and doubles after 2000 good ones",
          "[optim]") {
  LossScale scale(training(Precision::fp16));
  REQUIRE(scale.value() == 65536.0);
  REQUIRE(scale.is_dynamic());
  scale.update(true);
  scale.update(true);
  REQUIRE(scale.value() == 16384.0);
  for (int i = 0; i < 1999; ++i) scale.update(false);
  REQUIRE(scale.value() == 16384.0);
  scale.update(false);
  REQUIRE(scale.value() == 32768.0);
  for (int i = 0; i < 1999; ++i) scale.update(false);
  scale.update(true);  // the good ones are counted anew
  for (int i = 0; i < 1999; ++i) scale.update(false);
  REQUIRE(scale.value() == 16384.0);
  REQUIRE(scale.state() == LossScale::State{16384.0, 1999, 3});
  for (int i = 0; i < 40 * 2000; ++i) scale.update(false);
  REQUIRE(scale.value() == LossScale::largest);
}

TEST_CASE("a fixed loss scale stays, and other precisions have none", "[optim]") {
  LossScale fixed(training(Precision::fp16, 128.0));
  fixed.update(true);
  REQUIRE(fixed.state() == LossScale::State{128.0, 0, 1});
  REQUIRE_FALSE(fixed.is_dynamic());
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    LossScale none(training(precision));
    for (int i = 0; i < 3000; ++i) none.update(false);
    REQUIRE(none.state() == LossScale::State{});
    REQUIRE_FALSE(none.is_dynamic());
  }
}

TEST_CASE("a loss scale goes on from a state, or begins anew after steps without one", "[optim]") {
  LossScale scale(training(Precision::fp16));
  scale.restore({512.0, 17, 5});
  REQUIRE(scale.state() == LossScale::State{512.0, 17, 5});
  scale.restore({1.0, 0, 16});  // halved to 1 in the last step
  REQUIRE(scale.state() == LossScale::State{1.0, 0, 16});
  LossScale anew(training(Precision::fp16));
  anew.restore({std::nullopt, 0, 5});
  REQUIRE(anew.state() == LossScale::State{65536.0, 0, 5});
  LossScale fixed(training(Precision::fp16, 64.0));
  fixed.restore({512.0, 17, 5});
  REQUIRE(fixed.value() == 64.0);
  LossScale none(training(Precision::bf16));
  none.restore({512.0, 17, 5});
  REQUIRE(none.state() == LossScale::State{std::nullopt, 0, 5});
  REQUIRE(none.value() == 1.0);
}
