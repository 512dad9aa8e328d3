#include "cuda/feature_maps.hpp"
#include "cuda/maps.hpp"
#include "kernels/typed_rows.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

/// Memory for patches, which holds those of one sample at least.
constexpr std::size_t most_patch_bytes = std::size_t{64} << 20;

/// A row of patches is what lies under one place of the window, as (channel, row, column).
struct GatherPatches {
  DeviceWindow window;
  Rows<const float> x;
  Rows<float> patches;

  PPTRAIN_FUNCTION void operator()(std::size_t row, std::size_t column) const {
    const auto places = static_cast<std::size_t>(window.places());
    const int place = static_cast<int>(row % places), in_window = static_cast<int>(column) % window.area();
    const int y = place / window.out_width * window.stride - window.padding + in_window / window.kernel_width;
    const int x_at = place % window.out_width * window.stride - window.padding + in_window % window.kernel_width;
    const bool inside = y >= 0 && y < window.height && x_at >= 0 && x_at < window.width;
    float value = 0;
    if (inside) {
      const std::size_t pixel =
          row / places * static_cast<std::size_t>(window.pixels()) + static_cast<std::size_t>(y * window.width + x_at);
      value = x.row(pixel)[column / static_cast<std::size_t>(window.area())];
    }
    patches.row(row)[column] = value;
  }
};

struct SumPatches {
  DeviceWindow window;
  Rows<const float> patches;
  Rows<float> dx;

  PPTRAIN_FUNCTION void operator()(std::size_t row, std::size_t channel) const {
    const auto pixels = static_cast<std::size_t>(window.pixels());
    const std::size_t first = row / pixels * static_cast<std::size_t>(window.places());
    const std::size_t column = channel * static_cast<std::size_t>(window.area());
    float sum = 0;
    window.for_each_place(static_cast<int>(row % pixels), [&](int place, int in_window) {
      sum += patches.row(first + static_cast<std::size_t>(place))[column + static_cast<std::size_t>(in_window)];
    });
    dx.row(row)[channel] = sum;
  }
};

/// Whether the map itself is its patches.
bool takes_pixels(const Window& w) { return w.area() == 1 && w.stride == 1 && w.padding == 0; }

Matrix weight_matrix(const ConvolutionForm& form, const float* weight) {
  return {const_cast<float*>(weight), static_cast<std::size_t>(form.out),
          static_cast<std::size_t>(form.channels * form.window.area()), DType::f32};
}

/// action(rows of x, rows of y) of some samples at a time, as many as there is room for.
template <class Action>
void for_samples(const ConvolutionForm& form, const Matrix& x, const Matrix& y, const Action& action) {
  const auto pixels = static_cast<std::size_t>(form.window.pixels());
  const auto places = static_cast<std::size_t>(form.window.out_pixels());
  const std::size_t bytes = places * static_cast<std::size_t>(form.channels * form.window.area()) * sizeof(float);
  const std::size_t samples = x.rows / pixels, together = std::max<std::size_t>(1, most_patch_bytes / bytes);
  for (std::size_t first = 0; first < samples; first += together) {
    const std::size_t count = std::min(together, samples - first);
    action(x.rows_from(first * pixels, count * pixels), y.rows_from(first * places, count * places));
  }
}

}  // namespace

Matrix CudaConvolutions::room_for_patches(const ConvolutionForm& form, std::size_t rows) {
  const auto columns = static_cast<std::size_t>(form.channels * form.window.area());
  return {patches_.take<float>(rows * columns), rows, columns, DType::f32};
}

void CudaConvolutions::forward(const ConvolutionForm& form, const Matrix& x, const float* weight, const float* bias,
                               const Matrix& y) {
  GemmOptions options;
  options.bias = bias;
  const Matrix w = weight_matrix(form, weight);
  if (takes_pixels(form.window)) return gemm_.multiply(Transpose::no, x, Transpose::yes, w, y, options);
  for_samples(form, x, y, [&](const Matrix& maps, const Matrix& results) {
    const Matrix patches = room_for_patches(form, results.rows);
    launch_numbers(device_.stream(), patches.rows, patches.columns,
                   GatherPatches{DeviceWindow(form.window), read_rows<float>(maps), write_rows<float>(patches)});
    gemm_.multiply(Transpose::no, patches, Transpose::yes, w, results, options);
  });
}

void CudaConvolutions::backward_input(const ConvolutionForm& form, const Matrix& dy, const float* weight,
                                      const Matrix& dx) {
  const Matrix w = weight_matrix(form, weight);
  if (takes_pixels(form.window)) return gemm_.multiply(Transpose::no, dy, Transpose::no, w, dx, {});
  for_samples(form, dx, dy, [&](const Matrix& maps, const Matrix& gradients) {
    const Matrix patches = room_for_patches(form, gradients.rows);
    gemm_.multiply(Transpose::no, gradients, Transpose::no, w, patches, {});
    launch_numbers(device_.stream(), maps.rows, maps.columns,
                   SumPatches{DeviceWindow(form.window), read_rows<float>(patches), write_rows<float>(maps)});
  });
}

void CudaConvolutions::backward_weight(const ConvolutionForm& form, const Matrix& x, const Matrix& dy, float* dweight) {
  const Matrix dw = weight_matrix(form, dweight);
  if (takes_pixels(form.window)) return gemm_.multiply(Transpose::yes, dy, Transpose::no, x, dw, {});
  GemmOptions options;
  for_samples(form, x, dy, [&](const Matrix& maps, const Matrix& gradients) {
    const Matrix patches = room_for_patches(form, gradients.rows);
    launch_numbers(device_.stream(), patches.rows, patches.columns,
                   GatherPatches{DeviceWindow(form.window), read_rows<float>(maps), write_rows<float>(patches)});
    gemm_.multiply(Transpose::yes, gradients, Transpose::no, patches, dw, options);
    options.accumulate = true;
  });
}

}  // namespace pptrain
