#include "cuda/feature_maps.hpp"
#include "cuda/maps.hpp"
#include "kernels/bodies/typed_rows.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

struct MaxPoolForward {
  DeviceWindow window;
  Rows<const float> x;
  Rows<float> y;
  std::int32_t* chosen;
  std::size_t channels;

  PPTRAIN_FUNCTION void operator()(std::size_t row, std::size_t c) const {
    const auto places = static_cast<std::size_t>(window.places());
    const std::size_t first_pixel = row / places * static_cast<std::size_t>(window.pixels());
    float best = 0;
    int best_place = -1;
    window.for_each_pixel(static_cast<int>(row % places), [&](int pixel, int place) {
      const float value = x.row(first_pixel + static_cast<std::size_t>(pixel))[c];
      const bool takes = best_place < 0 || value > best || (value != value && best == best);
      best = takes ? value : best;
      best_place = takes ? place : best_place;
    });
    y.row(row)[c] = best;
    chosen[row * channels + c] = best_place;
  }
};

struct MaxPoolBackward {
  DeviceWindow window;
  Rows<const float> dy;
  const std::int32_t* chosen;
  Rows<float> dx;
  std::size_t channels;

  PPTRAIN_FUNCTION void operator()(std::size_t row, std::size_t c) const {
    const auto pixels = static_cast<std::size_t>(window.pixels());
    const std::size_t first = row / pixels * static_cast<std::size_t>(window.places());
    float sum = 0;
    window.for_each_place(static_cast<int>(row % pixels), [&](int place, int in_window) {
      const std::size_t at = first + static_cast<std::size_t>(place);
      sum += chosen[at * channels + c] == in_window ? dy.row(at)[c] : 0.0f;
    });
    dx.row(row)[c] = sum;
  }
};

struct AveragePoolForward {
  DeviceWindow window;
  Rows<const float> x;
  Rows<float> y;
  float share;

  PPTRAIN_FUNCTION void operator()(std::size_t row, std::size_t c) const {
    const auto places = static_cast<std::size_t>(window.places());
    const std::size_t first_pixel = row / places * static_cast<std::size_t>(window.pixels());
    float sum = 0;
    window.for_each_pixel(static_cast<int>(row % places), [&](int pixel, int) {
      sum += x.row(first_pixel + static_cast<std::size_t>(pixel))[c];
    });
    y.row(row)[c] = sum * share;
  }
};

struct AveragePoolBackward {
  DeviceWindow window;
  Rows<const float> dy;
  Rows<float> dx;
  float share;

  PPTRAIN_FUNCTION void operator()(std::size_t row, std::size_t c) const {
    const auto pixels = static_cast<std::size_t>(window.pixels());
    const std::size_t first = row / pixels * static_cast<std::size_t>(window.places());
    float sum = 0;
    window.for_each_place(static_cast<int>(row % pixels), [&](int place, int) {
      sum += share * dy.row(first + static_cast<std::size_t>(place))[c];
    });
    dx.row(row)[c] = sum;
  }
};

struct Flatten {
  Rows<float> maps, rows;
  std::size_t pixels;
  bool back;

  PPTRAIN_FUNCTION void operator()(std::size_t row, std::size_t c) const {
    float& of_map = maps.row(row)[c];
    float& of_row = rows.row(row / pixels)[c * pixels + row % pixels];
    if (back) {
      of_map = of_row;
    } else {
      of_row = of_map;
    }
  }
};

}  // namespace

void CudaFeatureMaps::max_pool_forward(const Window& window, const Matrix& x, const Matrix& y,
                                       std::int32_t* chosen) {
  launch_numbers(device_.stream(), y.rows, y.columns,
                 MaxPoolForward{DeviceWindow(window), read_rows<float>(x), write_rows<float>(y),
                                chosen, y.columns});
}

void CudaFeatureMaps::max_pool_backward(const Window& window, const Matrix& dy,
                                        const std::int32_t* chosen, const Matrix& dx) {
  launch_numbers(device_.stream(), dx.rows, dx.columns,
                 MaxPoolBackward{DeviceWindow(window), read_rows<float>(dy), chosen,
                                 write_rows<float>(dx), dx.columns});
}

void CudaFeatureMaps::average_pool_forward(const Window& window, const Matrix& x, const Matrix& y) {
  launch_numbers(device_.stream(), y.rows, y.columns,
                 AveragePoolForward{DeviceWindow(window), read_rows<float>(x), write_rows<float>(y),
                                    1.0F / static_cast<float>(window.area())});
}

void CudaFeatureMaps::average_pool_backward(const Window& window, const Matrix& dy,
                                            const Matrix& dx) {
  launch_numbers(
      device_.stream(), dx.rows, dx.columns,
      AveragePoolBackward{DeviceWindow(window), read_rows<float>(dy), write_rows<float>(dx),
                          1.0F / static_cast<float>(window.area())});
}

void CudaFeatureMaps::flatten(std::size_t samples, const Matrix& x, const Matrix& y, bool back) {
  if (samples == 0) return;
  launch_numbers(device_.stream(), x.rows, x.columns,
                 Flatten{write_rows<float>(x), write_rows<float>(y), x.rows / samples, back});
}

}  // namespace pptrain
