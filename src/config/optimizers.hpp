#pragma once

#include <optional>

#include "base/name_table.hpp"

/// Writes `one(NAME)` for each optimizer, in the order of messages. A new one is a name here, with
/// the keys that it alone has below and in optimizer_keys.cpp; its rule is
/// src/model/optimizers/NAME.cpp, its step src/optim/NAME.cpp, and a step that updates each element
/// by itself has a body in src/kernels/bodies/update_steps.hpp.
#define PPTRAIN_FOR_EACH_OPTIMIZER(one) one(adamw) one(sgd) one(lion) one(adafactor) one(muon)

namespace pptrain {

#define PPTRAIN_ENUMERATOR(name) name,
enum class OptimizerKind { PPTRAIN_FOR_EACH_OPTIMIZER(PPTRAIN_ENUMERATOR) };
#undef PPTRAIN_ENUMERATOR

/// The names of optimizers in files.
const NameTable<OptimizerKind>& optimizer_names();

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::adamw;
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  std::optional<double> weight_decay;  ///< nothing: 0.1, of sgd 0
  double gradient_clip = 1.0;          ///< global norm; 0: off
  // Only sgd has:
  double momentum = 0.0;  ///< 0: none
  bool nesterov = false;
  // Only adafactor has:
  double beta2_decay = -0.8;
  double epsilon2 = 1e-3;
  double clip_threshold = 1.0;
  // Only muon has:
  double muon_learning_rate = 0.02;
  double muon_momentum = 0.95;

  /// Name of the kind as files write it.
  const std::string& name() const { return optimizer_names().name_of(kind); }
  /// Weight decay that applies: `weight_decay`, or the default of the kind where that says nothing.
  double decay() const { return weight_decay.value_or(kind == OptimizerKind::sgd ? 0.0 : 0.1); }
};

}  // namespace pptrain
