#pragma once

#include <cstdint>

namespace pptrain {

/// The probabilities that rows of logits are to have: `uniform` for every class, and `own` in
/// addition for the class of the row.
struct Targets {
  const std::int32_t* classes = nullptr;  ///< (R); below 0: the row has no target
  std::int64_t first_class = 0;  ///< the class of column 0, where a group divides the classes
  float own = 1.0f;
  float uniform = 0.0f;
};

/// How logits become the gradient of a loss.
struct LossGradient {
  float scale = 1.0f;   ///< of the loss
  float z_loss = 0.0f;  ///< weight of the squared logarithm of the softmax's sum
  float cap = 0.0f;     ///< what `soft_cap` has held the logits within, whose derivative is part of
                        ///< theirs; 0: nothing
};

/// What the loss of training is made of beside the cross-entropy.
struct LossForm {
  double z_loss = 0.0;           ///< weight of the squared logarithm of the softmax's sum
  double label_smoothing = 0.0;  ///< part of a target that all classes share alike, its own among
                                 ///< them

  /// The targets of rows over `num_classes` classes (Szegedy et al., "Rethinking the Inception
  /// architecture", 2016, section 7).
  Targets targets(const std::int32_t* classes, std::int64_t first_class,
                  std::int64_t num_classes) const {
    return {classes, first_class, static_cast<float>(1.0 - label_smoothing),
            static_cast<float>(label_smoothing / static_cast<double>(num_classes))};
  }
};

}  // namespace pptrain
