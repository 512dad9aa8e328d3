#include "cuda/feature_maps.hpp"
#include "cuda/maps.hpp"
#include "kernels/bodies/typed_rows.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

/// A row of patches is what lies under one place of the window, as (channel, row, column).
struct GatherPatches {
  DeviceWindow window;
  Rows<const float> x;
  Rows<float> patches;

  PPTRAIN_FUNCTION void operator()(std::size_t row, std::size_t column) const {
    const auto places = static_cast<std::size_t>(window.places());
    const int place = static_cast<int>(row % places),
              in_window = static_cast<int>(column) % window.area();
    const int y =
        place / window.out_width * window.stride - window.padding + in_window / window.kernel_width;
    const int x_at =
        place % window.out_width * window.stride - window.padding + in_window % window.kernel_width;
    const bool inside = y >= 0 && y < window.height && x_at >= 0 && x_at < window.width;
    float value = 0;
    if (inside) {
      const std::size_t pixel = row / places * static_cast<std::size_t>(window.pixels()) +
                                static_cast<std::size_t>(y * window.width + x_at);
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
      sum += patches.row(
          first + static_cast<std::size_t>(place))[column + static_cast<std::size_t>(in_window)];
    });
    dx.row(row)[channel] = sum;
  }
};

}  // namespace

Matrix CudaConvolutions::room(std::size_t rows, std::size_t columns, DType type) {
  return {patches_.take<float>(rows * columns), rows, columns, type};
}

void CudaConvolutions::gather(const Window& window, const Matrix& x, const Matrix& patches) {
  launch_numbers(
      device_.stream(), patches.rows, patches.columns,
      GatherPatches{DeviceWindow(window), read_rows<float>(x), write_rows<float>(patches)});
}

void CudaConvolutions::scatter(const Window& window, const Matrix& patches, const Matrix& dx) {
  launch_numbers(
      device_.stream(), dx.rows, dx.columns,
      SumPatches{DeviceWindow(window), read_rows<float>(patches), write_rows<float>(dx)});
}

}  // namespace pptrain
