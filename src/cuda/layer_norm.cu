#include "cuda/kernels.hpp"
#include "cuda/sums.hpp"
#include "kernels/bodies/layer_norm.hpp"
#include "kernels/typed_rows.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

template <class D>
struct ChunkGradients : bodies::LayerNormParameterGradient<D> {
  PPTRAIN_FUNCTION ChunkGradients of_chunk(std::size_t shift) const {
    ChunkGradients shifted = *this;
    shifted.dgain += shift;
    shifted.doffset += shift;
    return shifted;
  }
  PPTRAIN_FUNCTION void clear(std::size_t column) const {
    this->dgain[column] = 0;
    this->doffset[column] = 0;
  }
};

}  // namespace

void CudaKernels::residual_layer_norm_forward(const Matrix& x, const Matrix& y, const float* bias, const Matrix& sum,
                                              const float* gain, const float* offset, const Matrix& normalised,
                                              float* mean, float* rstd) {
  with_type(normalised.type, [&](auto element) {
    using T = decltype(element);
    launch_rows(device_.stream(), x.rows, x.columns,
                bodies::ResidualLayerNorm<T>{read_rows<float>(x), read_rows<float>(y), bias, write_rows<float>(sum),
                                             gain, offset, write_rows<T>(normalised), mean, rstd, x.columns});
  });
}

void CudaKernels::layer_norm_backward(const Matrix& dnormalised, const Matrix& x, const float* mean, const float* rstd,
                                      const float* gain, const float* offset, const Matrix& residual_gradient,
                                      const Matrix& dx, float* dgain, float* doffset, const Matrix& normalised) {
  if (x.rows == 0) return;
  const RowChunks chunks(x.rows);
  const std::size_t columns = x.columns;
  auto* gains = scratch_.take<float>(2 * chunks.count() * columns);
  float* offsets = gains + chunks.count() * columns;
  with_type(dnormalised.type, [&](auto gradient_element) {
    using D = decltype(gradient_element);
    const auto d = read_rows<D>(dnormalised);
    const auto from = read_rows<float>(x);
    launch_sum_chunks(device_.stream(), columns, chunks, ChunkGradients<D>{{d, from, mean, rstd, gains, offsets}});
    with_type(normalised.type, [&](auto element) {
      using T = decltype(element);
      launch_rows(
          device_.stream(), x.rows, columns,
          bodies::LayerNormBackward<D, T>{d, from, mean, rstd, gain, offset, read_rows<float>(residual_gradient),
                                          write_rows<float>(dx), write_rows<T>(normalised), columns});
    });
  });
  launch_add_chunks(device_.stream(), columns, chunks, gains, dgain);
  launch_add_chunks(device_.stream(), columns, chunks, offsets, doffset);
}

}  // namespace pptrain
