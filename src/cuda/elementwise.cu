#include "cuda/kernels.hpp"
#include "cuda/packs.hpp"
#include "kernels/bodies/elementwise.hpp"
#include "kernels/typed_rows.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

struct AddPacks {
  const float* x;
  float* y;
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t, std::size_t i) const {
    const Pack<float, N> from(x + i);
    Pack<float, N> to(y + i);
    for (unsigned e = 0; e < N; ++e) bodies::Add{from.values, to.values}(e);
    to.store(y + i);
  }
};

struct ScalePacks {
  float* x;
  float factor;
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t, std::size_t i) const {
    Pack<float, N> pack(x + i);
    for (unsigned e = 0; e < N; ++e) bodies::Scale{pack.values, factor}(e);
    pack.store(x + i);
  }
};

struct ResidualAddPacks {
  Rows<const float> x, y;
  const float* bias;
  Rows<float> out;
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t row, std::size_t c) const {
    const Pack<float, N> a(x.row(row) + c), b(y.row(row) + c), offset(bias + c);
    Pack<float, N> sum;
    bodies::ResidualAdd{{a.values}, {b.values}, offset.values, {sum.values}, N}(PackTeam<N>(), 0);
    sum.store(out.row(row) + c);
  }
};

template <class From, class To>
struct ConvertPacks {
  Rows<const From> from;
  Rows<To> to;
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t row, std::size_t c) const {
    const Pack<From, N> source(from.row(row) + c);
    Pack<To, N> target;
    bodies::Convert<From, To>{{source.values}, {target.values}, N}(PackTeam<N>(), 0);
    target.store(to.row(row) + c);
  }
};

template <class T>
struct GeluForwardPacks {
  Rows<const T> u;
  Rows<T> out;
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t row, std::size_t c) const {
    const Pack<T, N> from(u.row(row) + c);
    Pack<T, N> to;
    bodies::GeluForward<T>{{from.values}, {to.values}, N}(PackTeam<N>(), 0);
    to.store(out.row(row) + c);
  }
};

template <class T>
struct GeluBackwardPacks {
  Rows<const T> u, dout;
  Rows<T> du, out;
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t row, std::size_t c) const {
    const Pack<T, N> from(u.row(row) + c), gradient(dout.row(row) + c);
    Pack<T, N> to_gradient, to;
    bodies::GeluBackward<T>{{from.values}, {gradient.values}, {to_gradient.values}, {to.values}, N}(PackTeam<N>(), 0);
    to_gradient.store(du.row(row) + c);
    to.store(out.row(row) + c);
  }
};

}  // namespace

void CudaKernels::add(const float* x, float* y, std::size_t n) {
  launch_packs<4>(device_.stream(), {1, n}, is_aligned(x) && is_aligned(y), AddPacks{x, y});
}

void CudaKernels::scale(float* x, float factor, std::size_t n) {
  launch_packs<4>(device_.stream(), {1, n}, is_aligned(x), ScalePacks{x, factor});
}

void CudaKernels::fill_zero(float* x, std::size_t n) { device_.fill(x, 0, n * sizeof(float)); }

void CudaKernels::residual_add(const Matrix& x, const Matrix& y, const float* bias, const Matrix& out) {
  launch_packs<4>(device_.stream(), {x.rows, x.columns}, are_aligned({&x, &y, &out}) && is_aligned(bias),
                  ResidualAddPacks{read_rows<float>(x), read_rows<float>(y), bias, write_rows<float>(out)});
}

void CudaKernels::convert(const Matrix& from, const Matrix& to) {
  const Extent extent = Extent::of(from.rows, from.columns, {&from, &to});
  with_type(from.type, [&](auto source) {
    with_type(to.type, [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      constexpr unsigned n = pack_of<From, To>();
      launch_packs<n>(device_.stream(), extent, are_aligned({&from, &to}),
                      ConvertPacks<From, To>{read_rows<From>(from), write_rows<To>(to)});
    });
  });
}

void CudaKernels::gelu_forward(const Matrix& u, const Matrix& out) {
  const Extent extent = Extent::of(u.rows, u.columns, {&u, &out});
  with_type(u.type, [&](auto element) {
    using T = decltype(element);
    launch_packs<pack_of<T>()>(device_.stream(), extent, are_aligned({&u, &out}),
                               GeluForwardPacks<T>{read_rows<T>(u), write_rows<T>(out)});
  });
}

void CudaKernels::gelu_backward(const Matrix& u, const Matrix& dout, const Matrix& du, const Matrix& out) {
  const Extent extent = Extent::of(u.rows, u.columns, {&u, &dout, &du, &out});
  with_type(u.type, [&](auto element) {
    using T = decltype(element);
    launch_packs<pack_of<T>()>(
        device_.stream(), extent, are_aligned({&u, &dout, &du, &out}),
        GeluBackwardPacks<T>{read_rows<T>(u), read_rows<T>(dout), write_rows<T>(du), write_rows<T>(out)});
  });
}

}  // namespace pptrain
