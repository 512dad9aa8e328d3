#pragma once

#include <cstdint>
#include <optional>

#include "config/config.hpp"

namespace pptrain {

/// The factor on the loss, and so on all gradients, that keeps small ones from vanishing in fp16
/// (Micikevicius et al., "Mixed precision training", ICLR 2018, section 3.2): 1 in other
/// precisions, a number of the configuration, or dynamic. Then it is halved at a step with
/// gradients that are not finite, which is skipped, and doubled after 2,000 good steps in a row.
class LossScale {
 public:
  /// What goes on from a checkpoint.
  struct State {
    std::optional<double> scale;     ///< nothing in other precisions
    std::int64_t good_steps = 0;     ///< since it changed
    std::int64_t skipped_steps = 0;  ///< of all so far; the optimizer has not seen them
    bool operator==(const State&) const = default;
  };

  static constexpr double first = 65536.0;
  static constexpr double largest = 16777216.0;
  static constexpr std::int64_t growth_interval = 2000;

  explicit LossScale(const TrainingConfig& training);

  /// Factor on the loss of the next step; 1 in precisions other than fp16.
  double value() const { return state_.scale.value_or(1.0); }
  /// Whether a smaller scale may mend a step whose gradients are not finite.
  bool is_dynamic() const { return kind_ == Kind::dynamic; }
  /// State to write into a checkpoint, for `restore`.
  const State& state() const { return state_; }

  /// Goes on from another one's state. The scale of a configuration stays what it is; a dynamic one
  /// begins anew after steps without any.
  void restore(const State& state);
  /// After a step.
  void update(bool skipped);

 private:
  enum class Kind { none, fixed, dynamic };

  Kind kind_ = Kind::none;
  State state_;
};

}  // namespace pptrain
