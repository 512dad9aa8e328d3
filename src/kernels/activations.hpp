#pragma once

#include "model/forms.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// dgate = dout * up * f'(gate), dup = dout * f(gate), and out = f(gate) * up again for the weight
/// gradient. All (R, C) T; each of the three results may take the place of any of the arguments.
struct GateBackwardCall {
  Activation activation;
  Matrix gate, up, dout;
  Matrix dgate, dup, out;
};

/// Functions of single elements, alone or as the gate of another matrix.
class ActivationKernels {
 public:
  virtual ~ActivationKernels() = default;
  /// out = f(u). u, out (R, C) T.
  virtual void activation_forward(Activation activation, const Matrix& u, const Matrix& out) = 0;

  /// du = dout * f'(u), and out = f(u) again for the weight gradient. du may be dout, out may be u.
  /// All (R, C) T.
  virtual void activation_backward(Activation activation, const Matrix& u, const Matrix& dout,
                                   const Matrix& du, const Matrix& out) = 0;

  /// out = f(gate) * up, element by element; out may be either. All (R, C) T.
  virtual void gate_forward(Activation activation, const Matrix& gate, const Matrix& up,
                            const Matrix& out) = 0;

  /// The gradients of a gate and of what it lets through.
  virtual void gate_backward(const GateBackwardCall& call) = 0;
};

}  // namespace pptrain
