#include "cuda/kernels.hpp"
#include "cuda/norm_rows.hpp"
#include "cuda/sums.hpp"
#include "kernels/host/norm_types.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

template <class D, class X, bool centred, bool has_offset>
struct ChunkGradients : bodies::NormParameterGradient<D, X, centred, has_offset> {
  PPTRAIN_FUNCTION ChunkGradients of_chunk(std::size_t shift) const {
    ChunkGradients shifted = *this;
    shifted.dgain += shift;
    if (has_offset) shifted.doffset += shift;
    return shifted;
  }
  PPTRAIN_FUNCTION void clear(std::size_t column) const {
    this->dgain[column] = 0;
    if (has_offset) this->doffset[column] = 0;
  }
};

/// Whether a row of these, and of weights, is computed in packs by one block. Matrices without data
/// are not there.
bool is_packed(std::initializer_list<const Matrix*> matrices,
               std::initializer_list<const float*> vectors) {
  for (const Matrix* matrix : matrices) {
    if (matrix->data == nullptr) continue;
    if (!fits_norm_block(matrix->columns) || !are_aligned({matrix})) return false;
  }
  for (const float* vector : vectors) {
    if (!is_aligned(vector)) return false;
  }
  return true;
}

}  // namespace

void CudaKernels::residual_norm_forward(const NormForm& form, const Matrix& x, const Matrix& y,
                                        const float* bias, const Matrix& sum, const float* gain,
                                        const float* offset, const Matrix& normalised, float* mean,
                                        float* rstd) {
  check_norm(form, x, normalised, mean, offset);
  with_norm_types(x, normalised, [&](auto in, auto element) {
    using X = decltype(in);
    using T = decltype(element);
    const bodies::ResidualNorm<X, T> body{read_rows<X>(x),
                                          read_rows<float>(y),
                                          bias,
                                          write_rows<X>(sum),
                                          norm_weights(form, gain, offset),
                                          form.epsilon,
                                          write_rows<T>(normalised),
                                          mean,
                                          rstd,
                                          x.columns};
    if (x.rows > 0 && is_packed({&x, &y, &sum, &normalised}, {bias, gain, offset})) {
      launch(device_.stream(), num_blocks((x.rows + rows_per_block - 1) / rows_per_block),
             norm_threads(x.columns), 0, residual_norm_rows<X, T>, body, x.rows);
    } else {
      launch_rows(device_.stream(), x.rows, x.columns, body);
    }
  });
}

void CudaKernels::norm_backward(const NormForm& form, const Matrix& dnormalised, const Matrix& x,
                                const float* mean, const float* rstd, const float* gain,
                                const float* offset, const Matrix& residual_gradient,
                                const Matrix& dx, float* dgain, float* doffset,
                                const Matrix& normalised) {
  check_norm(form, x, normalised, mean, offset);
  if (x.rows == 0) return;
  const bool packed =
      is_packed({&dnormalised, &x, &residual_gradient, &dx, &normalised}, {gain, offset});
  const RowChunks chunks = packed ? norm_chunks(x.rows, x.columns) : RowChunks(x.rows);
  const std::size_t columns = x.columns;
  auto* gains = scratch_.take<float>(2 * chunks.count() * columns);
  float* offsets = doffset == nullptr ? nullptr : gains + chunks.count() * columns;
  with_norm_types(dnormalised, x, normalised, [&](auto gradient_element, auto in, auto element) {
    using D = decltype(gradient_element);
    using X = decltype(in);
    using T = decltype(element);
    const auto d = read_rows<D>(dnormalised);
    const auto from = read_rows<X>(x);
    const bodies::NormBackward<D, X, T> body{d,
                                             from,
                                             mean,
                                             rstd,
                                             norm_weights(form, gain, offset),
                                             read_rows<float>(residual_gradient),
                                             write_rows<X>(dx),
                                             write_rows<T>(normalised),
                                             columns};
    if (packed) {
      return launch(device_.stream(), static_cast<unsigned>(chunks.count()), norm_threads(columns),
                    0, norm_backward_rows<D, X, T>, body, gains, offsets, chunks);
    }
    // The sums come before dx, which may take the gradient's place.
    bodies::with_norm_form(mean, doffset, [&](auto centred, auto has_offset) {
      using Gradients = ChunkGradients<D, X, decltype(centred)::value, decltype(has_offset)::value>;
      launch_sum_chunks(device_.stream(), columns, chunks,
                        Gradients{{d, from, mean, rstd, gains, offsets}});
    });
    launch_rows(device_.stream(), x.rows, columns, body);
  });
  launch_add_chunks(device_.stream(), columns, chunks, gains, dgain);
  if (doffset != nullptr) launch_add_chunks(device_.stream(), columns, chunks, offsets, doffset);
}

}  // namespace pptrain
