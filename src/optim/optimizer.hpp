#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// A run of elements of a flat parameter array that are treated alike.
struct ParameterRun {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool decays = false;
};

/// Flat arrays of one device's parameters; `copies` (bf16 weights) may be null.
struct ParameterArrays {
  float* weights = nullptr;
  const float* gradients = nullptr;
  BFloat16* copies = nullptr;
  std::size_t size = 0;
};

/// Numbers of one step.
struct StepValues {
  std::int64_t step = 0;  ///< from 0
  double learning_rate = 0.0;
  double gradient_scale = 1.0;  ///< clipping: min(1, clip / (norm + 1e-6))
};

/// Updates weights from gradients.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual void step(const ParameterArrays& arrays, const StepValues& values) = 0;
};

/// The optimizer the configuration names. `runs` cover what is updated.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, std::vector<ParameterRun> runs,
                                          std::size_t size, Arena& arena);

/// Factor that brings gradients of norm `norm` to at most `clip`; 1 when `clip` is 0.
double clip_factor(double norm, double clip);

}  // namespace pptrain
