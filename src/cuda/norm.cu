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

void CudaKernels::residual_norm_forward(const ResidualNormCall& norm) {
  check_norm(norm.form, norm.x, norm.normalised, norm.mean, norm.offset);
  with_norm_types(norm.x, norm.normalised, [&](auto in, auto element) {
    using X = decltype(in);
    using T = decltype(element);
    const auto body = residual_norm_body<X, T>(norm);
    if (norm.x.rows > 0 && is_packed({&norm.x, &norm.y, &norm.sum, &norm.normalised},
                                     {norm.bias, norm.gain, norm.offset})) {
      launch(device_.stream(), num_blocks((norm.x.rows + rows_per_block - 1) / rows_per_block),
             norm_threads(norm.x.columns), 0, residual_norm_rows<X, T>, body, norm.x.rows);
    } else {
      launch_rows(device_.stream(), norm.x.rows, norm.x.columns, body);
    }
  });
}

void CudaKernels::norm_backward(const NormBackwardCall& norm) {
  check_norm(norm.form, norm.x, norm.normalised, norm.mean, norm.offset);
  if (norm.x.rows == 0) return;
  const bool packed =
      is_packed({&norm.dnormalised, &norm.x, &norm.residual_gradient, &norm.dx, &norm.normalised},
                {norm.gain, norm.offset});
  const RowChunks chunks =
      packed ? norm_chunks(norm.x.rows, norm.x.columns) : RowChunks(norm.x.rows);
  const std::size_t columns = norm.x.columns;
  auto* gains = scratch_.take<float>(2 * chunks.count() * columns);
  float* offsets = norm.doffset == nullptr ? nullptr : gains + chunks.count() * columns;
  with_norm_types(
      norm.dnormalised, norm.x, norm.normalised, [&](auto gradient_element, auto in, auto element) {
        using D = decltype(gradient_element);
        using X = decltype(in);
        using T = decltype(element);
        const auto body = norm_backward_body<D, X, T>(norm);
        if (packed) {
          return launch(device_.stream(), static_cast<unsigned>(chunks.count()),
                        norm_threads(columns), 0, norm_backward_rows<D, X, T>, body, gains, offsets,
                        chunks);
        }
        // The sums come before dx, which may take the gradient's place.
        bodies::with_norm_form(norm.mean, norm.doffset, [&](auto centred, auto has_offset) {
          using Gradients =
              ChunkGradients<D, X, decltype(centred)::value, decltype(has_offset)::value>;
          launch_sum_chunks(device_.stream(), columns, chunks,
                            Gradients{{read_rows<D>(norm.dnormalised), read_rows<X>(norm.x),
                                       norm.mean, norm.rstd, gains, offsets}});
        });
        launch_rows(device_.stream(), norm.x.rows, columns, body);
      });
  launch_add_chunks(device_.stream(), columns, chunks, {gains, norm.dgain},
                    {offsets, norm.doffset});
}

}  // namespace pptrain
