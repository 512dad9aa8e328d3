#include "optim/loss_scale.hpp"

#include <algorithm>

namespace pptrain {

LossScale::LossScale(const TrainingConfig& training) {
  if (training.precision != Precision::fp16) return;
  kind_ = training.loss_scale ? Kind::fixed : Kind::dynamic;
  state_.scale = training.loss_scale.value_or(first);
}

void LossScale::restore(const State& state) {
  state_.skipped_steps = state.skipped_steps;
  if (kind_ != Kind::dynamic || !state.scale) return;
  state_.scale = state.scale;
  state_.good_steps = state.good_steps;
}

void LossScale::update(bool skipped) {
  if (skipped) ++state_.skipped_steps;
  if (kind_ != Kind::dynamic) return;
  ++state_.good_steps;
  if (skipped) {
    *state_.scale /= 2.0;
    state_.good_steps = 0;
  } else if (state_.good_steps == growth_interval) {
    state_.scale = std::min(2.0 * *state_.scale, largest);
    state_.good_steps = 0;
  }
}

}  // namespace pptrain
