#include "cuda/kernels.hpp"
#include "cuda/packs.hpp"
#include "kernels/bodies/dropout.hpp"
#include "kernels/bodies/elementwise.hpp"
#include "kernels/bodies/typed_rows.hpp"

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

struct DropoutBlocks : bodies::DropoutBlock {
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t, std::size_t block) const {
    (*this)(block);
  }
};

struct ResidualAddPacks {
  Rows<const float> x, y;
  const float* bias;  // may be null
  Rows<float> out;
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t row, std::size_t c) const {
    const Pack<float, N> a(x.row(row) + c), b(y.row(row) + c);
    Pack<float, N> sum, offset;
    if (bias != nullptr) offset = Pack<float, N>(bias + c);
    bodies::ResidualAdd{
        {a.values}, {b.values}, bias != nullptr ? offset.values : nullptr, {sum.values}, N}(
        PackTeam<N>(), 0);
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

}  // namespace

void CudaKernels::add(const float* x, float* y, std::size_t n) {
  launch_packs<4>(device_.stream(), {1, n}, is_aligned(x) && is_aligned(y), AddPacks{x, y});
}

void CudaKernels::scale(float* x, float factor, std::size_t n) {
  launch_packs<4>(device_.stream(), {1, n}, is_aligned(x), ScalePacks{x, factor});
}

void CudaKernels::dropout(float* x, std::size_t n, const DropoutMask& mask) {
  const bodies::DropoutBlock body = bodies::DropoutBlock::of(x, n, mask);
  launch_packs<1>(device_.stream(), {1, body.num_blocks()}, true, DropoutBlocks{body});
}

void CudaKernels::fill_zero(float* x, std::size_t n) { device_.fill(x, 0, n * sizeof(float)); }

void CudaKernels::residual_add(const Matrix& x, const Matrix& y, const float* bias,
                               const Matrix& out) {
  launch_packs<4>(
      device_.stream(), {x.rows, x.columns}, are_aligned({&x, &y, &out}) && is_aligned(bias),
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

}  // namespace pptrain
