#include "kernels/bodies/activation.hpp"

#include "kernels/host/host_kernels.hpp"
#include "kernels/host/launch.hpp"

namespace pptrain {

using namespace kernels;

void HostKernels::activation_forward(Activation activation, const Matrix& u, const Matrix& out) {
  with_type(u.type, [&](auto element) {
    using T = decltype(element);
    bodies::with_activation(activation, [&](auto f) {
      launch_rows("activation_forward", 0, u.rows,
                  bodies::ActivationForward<decltype(f), T>{read_rows<T>(u), write_rows<T>(out),
                                                            u.columns});
    });
  });
}

void HostKernels::activation_backward(Activation activation, const Matrix& u, const Matrix& dout,
                                      const Matrix& du, const Matrix& out) {
  with_type(u.type, [&](auto element) {
    using T = decltype(element);
    bodies::with_activation(activation, [&](auto f) {
      launch_rows("activation_backward", 0, u.rows,
                  bodies::ActivationBackward<decltype(f), T>{read_rows<T>(u), read_rows<T>(dout),
                                                             write_rows<T>(du), write_rows<T>(out),
                                                             u.columns});
    });
  });
}

void HostKernels::gate_forward(Activation activation, const Matrix& gate, const Matrix& up,
                               const Matrix& out) {
  with_type(gate.type, [&](auto element) {
    using T = decltype(element);
    bodies::with_activation(activation, [&](auto f) {
      launch_rows("gate_forward", 0, gate.rows,
                  bodies::GateForward<decltype(f), T>{read_rows<T>(gate), read_rows<T>(up),
                                                      write_rows<T>(out), gate.columns});
    });
  });
}

void HostKernels::gate_backward(const GateBackwardCall& call) {
  with_type(call.gate.type, [&](auto element) {
    using T = decltype(element);
    bodies::with_activation(call.activation, [&](auto f) {
      launch_rows("gate_backward", 0, call.gate.rows,
                  bodies::GateBackward<decltype(f), T>{
                      read_rows<T>(call.gate), read_rows<T>(call.up), read_rows<T>(call.dout),
                      write_rows<T>(call.dgate), write_rows<T>(call.dup), write_rows<T>(call.out),
                      call.gate.columns});
    });
  });
}

}  // namespace pptrain
