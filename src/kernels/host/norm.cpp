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

void HostKernels::residual_norm_forward(const ResidualNormCall& norm) {
  check_norm(norm.form, norm.x, norm.normalised, norm.mean, norm.offset);
  with_norm_types(norm.x, norm.normalised, [&](auto in, auto element) {
    using X = decltype(in);
    using T = decltype(element);
    launch_rows("residual_norm_forward", 0, norm.x.rows, residual_norm_body<X, T>(norm));
  });
}

void HostKernels::norm_backward(const NormBackwardCall& norm) {
  check_norm(norm.form, norm.x, norm.normalised, norm.mean, norm.offset);
  with_norm_types(
      norm.dnormalised, norm.x, norm.normalised, [&](auto gradient_element, auto in, auto element) {
        using D = decltype(gradient_element);
        using X = decltype(in);
        using T = decltype(element);
        const auto rows = norm_backward_body<D, X, T>(norm);
        bodies::with_norm_form(norm.mean, norm.doffset, [&](auto centred, auto has_offset) {
          backward(rows,
                   bodies::NormParameterGradient<D, X, decltype(centred)::value,
                                                 decltype(has_offset)::value>{
                       read_rows<D>(norm.dnormalised), read_rows<X>(norm.x), norm.mean, norm.rstd,
                       norm.dgain, norm.doffset},
                   norm.x.rows);
        });
      });
}

}  // namespace pptrain
