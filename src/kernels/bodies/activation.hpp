#pragma once

#include <cstddef>

#include "kernels/bodies/math.hpp"
#include "kernels/bodies/row_team.hpp"
#include "model/forms.hpp"

/// Activations by themselves and as gates, a row at a time. A body is one of a function f below;
/// sums and products are fp32, and only what is written is rounded to T.
namespace pptrain::kernels::bodies {

struct GeluTanh {
  PPTRAIN_FUNCTION ValueWithDerivative operator()(float u) const { return gelu_with_derivative(u); }
};
struct GeluErf {
  PPTRAIN_FUNCTION ValueWithDerivative operator()(float u) const {
    return gelu_erf_with_derivative(u);
  }
};
struct Silu {
  PPTRAIN_FUNCTION ValueWithDerivative operator()(float u) const { return silu_with_derivative(u); }
};
struct Relu {
  PPTRAIN_FUNCTION ValueWithDerivative operator()(float u) const { return relu_with_derivative(u); }
};

/// call(f) with the function that the activation names.
template <class Call>
void with_activation(Activation activation, const Call& call) {
  switch (activation) {
    case Activation::gelu_tanh: call(GeluTanh()); break;
    case Activation::gelu: call(GeluErf()); break;
    case Activation::silu: call(Silu()); break;
    case Activation::relu: call(Relu()); break;
  }
}

/// out = f(u).
template <class F, class T>
struct ActivationForward {
  Rows<const T> u;
  Rows<T> out;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const T* from = u.row(row);
    T* to = out.row(row);
    team.for_each(columns, [=](std::size_t c) { store(to[c], F()(from[c]).value); });
  }
};

/// du = dout f'(u), and out = f(u).
template <class F, class T>
struct ActivationBackward {
  Rows<const T> u, dout;
  Rows<T> du, out;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const T *from = u.row(row), *gradient = dout.row(row);
    T *to_gradient = du.row(row), *to = out.row(row);
    team.for_each(columns, [=](std::size_t c) {
      const ValueWithDerivative f = F()(from[c]);
      store(to_gradient[c], static_cast<float>(gradient[c]) * f.derivative);
      store(to[c], f.value);
    });
  }
};

/// out = f(gate) up (Shazeer, "GLU variants improve transformer", arXiv:2002.05202).
template <class F, class T>
struct GateForward {
  Rows<const T> gate, up;
  Rows<T> out;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const T *from = gate.row(row), *factor = up.row(row);
    T* to = out.row(row);
    team.for_each(columns, [=](std::size_t c) {
      store(to[c], F()(from[c]).value * static_cast<float>(factor[c]));
    });
  }
};

/// dgate = dout up f'(gate), dup = dout f(gate), and out = f(gate) up.
template <class F, class T>
struct GateBackward {
  Rows<const T> gate, up, dout;
  Rows<T> dgate, dup, out;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const T *from = gate.row(row), *factor = up.row(row), *gradient = dout.row(row);
    T *to_gate = dgate.row(row), *to_up = dup.row(row), *to = out.row(row);
    team.for_each(columns, [=](std::size_t c) {
      const ValueWithDerivative f = F()(from[c]);
      const float u = factor[c], d = gradient[c];
      store(to_gate[c], d * u * f.derivative);
      store(to_up[c], d * f.value);
      store(to[c], f.value * u);
    });
  }
};

}  // namespace pptrain::kernels::bodies
