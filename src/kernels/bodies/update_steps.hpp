#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>
#include <variant>

#include "base/bfloat16.hpp"
#include "kernels/kernels.hpp"

// Steps of optimizers that update each element by itself: the numbers of a step, and the arithmetic
// of one element.

namespace pptrain::kernels::bodies {

template <class T>
struct AdamW;
template <class T>
struct Sgd;
template <class T>
struct Momentum;
template <class T>
struct Lion;

}  // namespace pptrain::kernels::bodies

namespace pptrain {

/// p *= 1 - lr * wd; p -= lr / bc1 * m / (sqrt(v) / sqrt(bc2) + eps).
struct AdamWStep {
  static constexpr const char* name = "adamw";
  template <class T>
  using Body = kernels::bodies::AdamW<T>;

  float learning_rate;
  float beta1;
  float beta2;
  float epsilon;
  float gradient_scale;    ///< clipping factor, applied to the gradient as it is read
  float bias_correction1;  ///< 1 - beta1^t
  float bias_correction2;  ///< 1 - beta2^t
};

/// g += wd * p; p -= lr * g. There is no state.
struct SgdStep {
  static constexpr const char* name = "sgd";
  template <class T>
  using Body = kernels::bodies::Sgd<T>;

  float learning_rate;
  float gradient_scale;
};

/// g += wd * p; b = momentum * b + g; p -= lr * b, or with Nesterov's p -= lr * (g + momentum * b).
struct MomentumStep {
  static constexpr const char* name = "momentum";
  template <class T>
  using Body = kernels::bodies::Momentum<T>;

  float learning_rate;
  float momentum;
  float gradient_scale;
  bool nesterov;
};

/// c = beta1 * m + (1 - beta1) * g; p *= 1 - lr * wd; p -= lr * sign(c); m = beta2 * m + (1 -
/// beta2) * g.
struct LionStep {
  static constexpr const char* name = "lion";
  template <class T>
  using Body = kernels::bodies::Lion<T>;

  float learning_rate;
  float beta1;
  float beta2;
  float gradient_scale;
};

/// The step of one of the optimizers.
struct UpdateStep {
  std::variant<AdamWStep, SgdStep, MomentumStep, LionStep> step;

  template <class Step>
  UpdateStep(const Step& one) : step(one) {}  // NOLINT(google-explicit-constructor)
};

}  // namespace pptrain

/// The arithmetic of one element, with a copy of type T; float: none. Each body is made of a run
/// and the numbers of a step.
namespace pptrain::kernels::bodies {

/// The memory that every optimizer reads and writes.
template <class T>
struct Updated {
  float* parameter;
  const float* gradient;
  float *first, *second;
  T* copy;

  Updated() = default;
  explicit Updated(const UpdateRun& run)
      : parameter(run.parameter),
        gradient(run.gradient),
        first(run.first),
        second(run.second),
        copy(static_cast<T*>(run.copy.data)) {}

  PPTRAIN_FUNCTION void set(std::size_t i, float p) const {
    parameter[i] = p;
    if constexpr (!std::is_same_v<T, float>) store(copy[i], p);
  }
};

/// AdamW (Loshchilov and Hutter, arXiv:1711.05101, algorithm 2).
template <class T>
struct AdamW : Updated<T> {
  static constexpr unsigned num_states = 2;

  float decay;      // 1 - learning rate * weight decay
  float step_size;  // learning rate / bias correction 1
  float beta1, beta2;
  float inverse_root;  // 1 / sqrt(bias correction 2)
  float epsilon;
  float gradient_scale;

  AdamW(const UpdateRun& run, const AdamWStep& step)
      : Updated<T>(run),
        decay(1.0f - step.learning_rate * run.weight_decay),
        step_size(step.learning_rate / step.bias_correction1),
        beta1(step.beta1),
        beta2(step.beta2),
        inverse_root(1.0f / std::sqrt(step.bias_correction2)),
        epsilon(step.epsilon),
        gradient_scale(step.gradient_scale) {}

  PPTRAIN_FUNCTION void operator()(std::size_t i) const {
    const float g = this->gradient[i] * gradient_scale;
    const float m = beta1 * this->first[i] + (1.0f - beta1) * g;
    const float v = beta2 * this->second[i] + (1.0f - beta2) * g * g;
    const float p =
        this->parameter[i] * decay - step_size * m / (std::sqrt(v) * inverse_root + epsilon);
    this->first[i] = m;
    this->second[i] = v;
    this->set(i, p);
  }
};

/// Stochastic gradient descent without momentum.
template <class T>
struct Sgd : Updated<T> {
  static constexpr unsigned num_states = 0;

  float decay;  // weight decay, part of the gradient
  float learning_rate;
  float gradient_scale;

  Sgd(const UpdateRun& run, const SgdStep& step)
      : Updated<T>(run),
        decay(run.weight_decay),
        learning_rate(step.learning_rate),
        gradient_scale(step.gradient_scale) {}

  PPTRAIN_FUNCTION void operator()(std::size_t i) const {
    const float p = this->parameter[i];
    this->set(i, p - learning_rate * (this->gradient[i] * gradient_scale + decay * p));
  }
};

/// Stochastic gradient descent with momentum (Sutskever et al., "On the importance of
/// initialization and momentum in deep learning", ICML 2013), as PyTorch writes it.
template <class T>
struct Momentum : Updated<T> {
  static constexpr unsigned num_states = 1;

  float decay;
  float learning_rate;
  float momentum;
  float ahead;   // weight of the buffer in a step: 1, or the momentum with Nesterov's
  float behind;  // weight of the gradient beside it: 0, or 1 with Nesterov's
  float gradient_scale;

  Momentum(const UpdateRun& run, const MomentumStep& step)
      : Updated<T>(run),
        decay(run.weight_decay),
        learning_rate(step.learning_rate),
        momentum(step.momentum),
        ahead(step.nesterov ? step.momentum : 1.0f),
        behind(step.nesterov ? 1.0f : 0.0f),
        gradient_scale(step.gradient_scale) {}

  PPTRAIN_FUNCTION void operator()(std::size_t i) const {
    const float p = this->parameter[i];
    const float g = this->gradient[i] * gradient_scale + decay * p;
    const float buffer = momentum * this->first[i] + g;
    this->first[i] = buffer;
    this->set(i, p - learning_rate * (behind * g + ahead * buffer));
  }
};

/// Lion (Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS 2023, algorithm 2).
template <class T>
struct Lion : Updated<T> {
  static constexpr unsigned num_states = 1;

  float decay;  // 1 - learning rate * weight decay
  float learning_rate;
  float beta1, beta2;
  float gradient_scale;

  Lion(const UpdateRun& run, const LionStep& step)
      : Updated<T>(run),
        decay(1.0f - step.learning_rate * run.weight_decay),
        learning_rate(step.learning_rate),
        beta1(step.beta1),
        beta2(step.beta2),
        gradient_scale(step.gradient_scale) {}

  PPTRAIN_FUNCTION void operator()(std::size_t i) const {
    const float g = this->gradient[i] * gradient_scale;
    const float m = this->first[i];
    const float c = beta1 * m + (1.0f - beta1) * g;
    const float sign = c > 0.0f ? 1.0f : c < 0.0f ? -1.0f : c;  // of a NaN itself
    this->first[i] = beta2 * m + (1.0f - beta2) * g;
    this->set(i, this->parameter[i] * decay - learning_rate * sign);
  }
};

}  // namespace pptrain::kernels::bodies
