#include "kernels/patch_convolution.hpp"

#include <algorithm>

namespace pptrain::kernels {
namespace {

/// Memory for patches, which holds those of one sample at least.
constexpr std::size_t most_patch_bytes = std::size_t{64} << 20;

/// Whether the map itself is its patches.
bool takes_pixels(const Window& w) { return w.area() == 1 && w.stride == 1 && w.padding == 0; }

std::size_t columns_of(const ConvolutionForm& form) {
  return static_cast<std::size_t>(form.channels * form.window.area());
}

/// action(rows of x, rows of y) of some samples at a time, as many as there is room for.
template <class Action>
void for_samples(const ConvolutionForm& form, const Matrix& x, const Matrix& y,
                 const Action& action) {
  if (takes_pixels(form.window)) return action(x, y);
  const auto pixels = static_cast<std::size_t>(form.window.pixels());
  const auto places = static_cast<std::size_t>(form.window.out_pixels());
  const std::size_t bytes = places * columns_of(form) * sizeof(float);
  const std::size_t samples = x.rows / pixels,
                    together = std::max<std::size_t>(1, most_patch_bytes / bytes);
  for (std::size_t first = 0; first < samples; first += together) {
    const std::size_t count = std::min(together, samples - first);
    action(x.rows_from(first * pixels, count * pixels),
           y.rows_from(first * places, count * places));
  }
}

}  // namespace

Matrix PatchConvolutions::patches_of(const ConvolutionForm& form, const Matrix& x,
                                     std::size_t places) {
  if (takes_pixels(form.window) && x.type == form.factors) return x;
  const Matrix patches = room(places, columns_of(form), form.factors);
  gather(form.window, x, patches);
  return patches;
}

void PatchConvolutions::forward(const ConvolutionForm& form, const Matrix& x, const Matrix& weight,
                                const float* bias, const Matrix& y) {
  GemmOptions options;
  options.bias = bias;
  for_samples(form, x, y, [&](const Matrix& maps, const Matrix& results) {
    gemm_.multiply(Transpose::no, patches_of(form, maps, results.rows), Transpose::yes, weight,
                   results, options);
  });
}

void PatchConvolutions::backward_input(const ConvolutionForm& form, const Matrix& dy,
                                       const Matrix& weight, const Matrix& dx) {
  for_samples(form, dx, dy, [&](const Matrix& maps, const Matrix& gradients) {
    const Matrix factor = rounded(gradients, form.factors);
    if (takes_pixels(form.window))
      return gemm_.multiply(Transpose::no, factor, Transpose::no, weight, maps, {});
    const Matrix patches = room(gradients.rows, columns_of(form), DType::f32);
    gemm_.multiply(Transpose::no, factor, Transpose::no, weight, patches, {});
    scatter(form.window, patches, maps);
  });
}

void PatchConvolutions::backward_weight(const ConvolutionForm& form, const Matrix& x,
                                        const Matrix& dy, float* dweight) {
  const Matrix dw(dweight, static_cast<std::size_t>(form.out), columns_of(form));
  GemmOptions options;
  for_samples(form, x, dy, [&](const Matrix& maps, const Matrix& gradients) {
    gemm_.multiply(Transpose::yes, rounded(gradients, form.factors), Transpose::no,
                   patches_of(form, maps, gradients.rows), dw, options);
    options.accumulate = true;
  });
}

}  // namespace pptrain::kernels
