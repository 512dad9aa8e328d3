#include "cuda/kernels.hpp"
#include "cuda/packs.hpp"
#include "kernels/bodies/activation.hpp"
#include "kernels/bodies/typed_rows.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

template <class F, class T>
struct ActivationForwardPacks {
  Rows<const T> u;
  Rows<T> out;
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t row, std::size_t c) const {
    const Pack<T, N> from(u.row(row) + c);
    Pack<T, N> to;
    bodies::ActivationForward<F, T>{{from.values}, {to.values}, N}(PackTeam<N>(), 0);
    to.store(out.row(row) + c);
  }
};

template <class F, class T>
struct ActivationBackwardPacks {
  Rows<const T> u, dout;
  Rows<T> du, out;
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t row, std::size_t c) const {
    const Pack<T, N> from(u.row(row) + c), gradient(dout.row(row) + c);
    Pack<T, N> to_gradient, to;
    bodies::ActivationBackward<F, T>{
        {from.values}, {gradient.values}, {to_gradient.values}, {to.values}, N}(PackTeam<N>(), 0);
    to_gradient.store(du.row(row) + c);
    to.store(out.row(row) + c);
  }
};

template <class F, class T>
struct GateForwardPacks {
  Rows<const T> gate, up;
  Rows<T> out;
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t row, std::size_t c) const {
    const Pack<T, N> from(gate.row(row) + c), factor(up.row(row) + c);
    Pack<T, N> to;
    bodies::GateForward<F, T>{{from.values}, {factor.values}, {to.values}, N}(PackTeam<N>(), 0);
    to.store(out.row(row) + c);
  }
};

template <class F, class T>
struct GateBackwardPacks {
  Rows<const T> gate, up, dout;
  Rows<T> dgate, dup, out;
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t row, std::size_t c) const {
    const Pack<T, N> from(gate.row(row) + c), factor(up.row(row) + c), gradient(dout.row(row) + c);
    Pack<T, N> to_gate, to_up, to;
    bodies::GateBackward<F, T>{{from.values},
                               {factor.values},
                               {gradient.values},
                               {to_gate.values},
                               {to_up.values},
                               {to.values},
                               N}(PackTeam<N>(), 0);
    to_gate.store(dgate.row(row) + c);
    to_up.store(dup.row(row) + c);
    to.store(out.row(row) + c);
  }
};

}  // namespace

void CudaKernels::activation_forward(Activation activation, const Matrix& u, const Matrix& out) {
  const Extent extent = Extent::of(u.rows, u.columns, {&u, &out});
  with_type(u.type, [&](auto element) {
    using T = decltype(element);
    bodies::with_activation(activation, [&](auto f) {
      launch_packs<pack_of<T>()>(
          device_.stream(), extent, are_aligned({&u, &out}),
          ActivationForwardPacks<decltype(f), T>{read_rows<T>(u), write_rows<T>(out)});
    });
  });
}

void CudaKernels::activation_backward(Activation activation, const Matrix& u, const Matrix& dout,
                                      const Matrix& du, const Matrix& out) {
  const Extent extent = Extent::of(u.rows, u.columns, {&u, &dout, &du, &out});
  with_type(u.type, [&](auto element) {
    using T = decltype(element);
    bodies::with_activation(activation, [&](auto f) {
      launch_packs<pack_of<T>()>(
          device_.stream(), extent, are_aligned({&u, &dout, &du, &out}),
          ActivationBackwardPacks<decltype(f), T>{read_rows<T>(u), read_rows<T>(dout),
                                                  write_rows<T>(du), write_rows<T>(out)});
    });
  });
}

void CudaKernels::gate_forward(Activation activation, const Matrix& gate, const Matrix& up,
                               const Matrix& out) {
  const Extent extent = Extent::of(gate.rows, gate.columns, {&gate, &up, &out});
  with_type(gate.type, [&](auto element) {
    using T = decltype(element);
    bodies::with_activation(activation, [&](auto f) {
      launch_packs<pack_of<T>()>(device_.stream(), extent, are_aligned({&gate, &up, &out}),
                                 GateForwardPacks<decltype(f), T>{
                                     read_rows<T>(gate), read_rows<T>(up), write_rows<T>(out)});
    });
  });
}

void CudaKernels::gate_backward(const GateBackwardCall& call) {
  const Extent extent =
      Extent::of(call.gate.rows, call.gate.columns,
                 {&call.gate, &call.up, &call.dout, &call.dgate, &call.dup, &call.out});
  with_type(call.gate.type, [&](auto element) {
    using T = decltype(element);
    bodies::with_activation(call.activation, [&](auto f) {
      launch_packs<pack_of<T>()>(
          device_.stream(), extent,
          are_aligned({&call.gate, &call.up, &call.dout, &call.dgate, &call.dup, &call.out}),
          GateBackwardPacks<decltype(f), T>{read_rows<T>(call.gate), read_rows<T>(call.up),
                                            read_rows<T>(call.dout), write_rows<T>(call.dgate),
                                            write_rows<T>(call.dup), write_rows<T>(call.out)});
    });
  });
}

}  // namespace pptrain
