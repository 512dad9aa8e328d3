#include "kernels/bodies/layer_norm.hpp"

#include <algorithm>

#include "kernels/host_kernels.hpp"
#include "kernels/launch.hpp"

namespace pptrain {

using namespace kernels;

namespace {

/// Both halves of the backward pass over a block of rows (128 KiB of x and the gradient) that stays in
/// the second cache.
template <class D, class T>
void backward(const bodies::LayerNormBackward<D, T>& rows, const bodies::LayerNormParameterGradient<D>& columns,
              std::size_t num_rows) {
  const std::size_t block = std::clamp<std::size_t>(16384 / std::max<std::size_t>(rows.columns, 1) / 8 * 8, 8, 64);
  for (std::size_t first = 0; first < num_rows; first += block) {
    const std::size_t last = std::min(num_rows, first + block);
    launch_columns("layer_norm_parameter_gradient", rows.columns, first, last, columns);
    launch_rows("layer_norm_backward", first, last, rows);
  }
}

}  // namespace

void HostKernels::residual_layer_norm_forward(const Matrix& x, const Matrix& y, const float* bias, const Matrix& sum,
                                              const float* gain, const float* offset, const Matrix& normalised,
                                              float* mean, float* rstd) {
  with_type(normalised.type, [&](auto element) {
    using T = decltype(element);
    launch_rows("residual_layer_norm_forward", 0, x.rows,
                bodies::ResidualLayerNorm<T>{read_rows<float>(x), read_rows<float>(y), bias, write_rows<float>(sum),
                                             gain, offset, write_rows<T>(normalised), mean, rstd, x.columns});
  });
}

void HostKernels::layer_norm_backward(const Matrix& dnormalised, const Matrix& x, const float* mean, const float* rstd,
                                      const float* gain, const float* offset, const Matrix& residual_gradient,
                                      const Matrix& dx, float* dgain, float* doffset, const Matrix& normalised) {
  with_type(dnormalised.type, [&](auto gradient_element) {
    with_type(normalised.type, [&](auto element) {
      using D = decltype(gradient_element);
      using T = decltype(element);
      const auto d = read_rows<D>(dnormalised);
      const auto from = read_rows<float>(x);
      backward(bodies::LayerNormBackward<D, T>{d, from, mean, rstd, gain, offset, read_rows<float>(residual_gradient),
                                               write_rows<float>(dx), write_rows<T>(normalised), x.columns},
               bodies::LayerNormParameterGradient<D>{d, from, mean, rstd, dgain, doffset}, x.rows);
    });
  });
}

}  // namespace pptrain
