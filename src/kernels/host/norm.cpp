#include "kernels/bodies/norm.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "kernels/host/host_kernels.hpp"
#include "kernels/host/launch.hpp"
#include "kernels/host/norm_types.hpp"

namespace pptrain {

using namespace kernels;

namespace {

/// Both halves of the backward pass over a block of rows (128 KiB of x and the gradient) that stays
/// in the second cache. The sums over rows come first, since dx may take the gradient's place.
template <class RowBody, class ColumnBody>
void backward(const RowBody& rows, const ColumnBody& columns, std::size_t num_rows) {
  const std::size_t block =
      std::clamp<std::size_t>(16384 / std::max<std::size_t>(rows.columns, 1) / 8 * 8, 8, 64);
  for (std::size_t first = 0; first < num_rows; first += block) {
    const std::size_t last = std::min(num_rows, first + block);
    launch_columns("norm_parameter_gradient", rows.columns, first, last, columns);
    launch_rows("norm_backward", first, last, rows);
  }
}

}  // namespace

void kernels::check_norm(const NormForm& form, const Matrix& x, const Matrix& normalised,
                         const float* mean, const float* offset) {
  PPTRAIN_ASSERT((form.kind == NormKind::layer) == (mean != nullptr),
                 "means belong to a LayerNorm, and to it alone");
  PPTRAIN_ASSERT(form.kind == NormKind::layer || offset == nullptr, "an RMSNorm with an offset");
  PPTRAIN_ASSERT(x.type == DType::f32 || normalised.data == nullptr || x.type == normalised.type,
                 "a norm from 16 bits to another type");
}

void HostKernels::residual_norm_forward(const NormForm& form, const Matrix& x, const Matrix& y,
                                        const float* bias, const Matrix& sum, const float* gain,
                                        const float* offset, const Matrix& normalised, float* mean,
                                        float* rstd) {
  check_norm(form, x, normalised, mean, offset);
  with_norm_types(x, normalised, [&](auto in, auto element) {
    using X = decltype(in);
    using T = decltype(element);
    launch_rows(
        "residual_norm_forward", 0, x.rows,
        bodies::ResidualNorm<X, T>{read_rows<X>(x), read_rows<float>(y), bias, write_rows<X>(sum),
                                   norm_weights(form, gain, offset), form.epsilon,
                                   write_rows<T>(normalised), mean, rstd, x.columns});
  });
}

void HostKernels::norm_backward(const NormForm& form, const Matrix& dnormalised, const Matrix& x,
                                const float* mean, const float* rstd, const float* gain,
                                const float* offset, const Matrix& residual_gradient,
                                const Matrix& dx, float* dgain, float* doffset,
                                const Matrix& normalised) {
  check_norm(form, x, normalised, mean, offset);
  const bodies::NormWeights weights = norm_weights(form, gain, offset);
  with_norm_types(dnormalised, x, normalised, [&](auto gradient_element, auto in, auto element) {
    using D = decltype(gradient_element);
    using X = decltype(in);
    using T = decltype(element);
    const auto d = read_rows<D>(dnormalised);
    const auto from = read_rows<X>(x);
    const bodies::NormBackward<D, X, T> rows{d,
                                             from,
                                             mean,
                                             rstd,
                                             weights,
                                             read_rows<float>(residual_gradient),
                                             write_rows<X>(dx),
                                             write_rows<T>(normalised),
                                             x.columns};
    bodies::with_norm_form(mean, doffset, [&](auto centred, auto has_offset) {
      backward(rows,
               bodies::NormParameterGradient<D, X, decltype(centred)::value,
                                             decltype(has_offset)::value>{d, from, mean, rstd,
                                                                          dgain, doffset},
               x.rows);
    });
  });
}

}  // namespace pptrain
