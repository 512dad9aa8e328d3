#include <algorithm>
#include <cmath>

#include "base/interval.hpp"
#include "kernels/host/host_feature_maps.hpp"
#include "kernels/host/launch.hpp"

namespace pptrain {

using namespace kernels;

namespace {

/// The pixels under one place of a window, without its padding.
struct Place {
  std::int64_t top, left;  ///< of the window; may be in the padding
  Interval rows, columns;  ///< of the map
  Place(const Window& w, std::int64_t place)
      : top(place / w.out_width() * w.stride - w.padding),
        left(place % w.out_width() * w.stride - w.padding),
        rows{std::max<std::int64_t>(top, 0), std::min(top + w.kernel_height, w.height)},
        columns{std::max<std::int64_t>(left, 0), std::min(left + w.kernel_width, w.width)} {}

  /// visit(pixel of the map, its place in the window), row by row.
  template <class Visit>
  void for_each_pixel(const Window& w, const Visit& visit) const {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      for (std::int64_t column = columns.begin; column < columns.end; ++column) {
        visit(static_cast<std::size_t>(row * w.width + column),
              static_cast<std::int32_t>((row - top) * w.kernel_width + column - left));
      }
    }
  }
};

/// body(sample) for the samples of a map.
template <class Body>
void launch_samples(const char* name, const Window& window, const Matrix& x, const Body& body) {
  Kokkos::parallel_for(name, pieces(x.rows / static_cast<std::size_t>(window.pixels())), body);
}

}  // namespace

void HostFeatureMaps::max_pool_forward(const Window& window, const Matrix& x, const Matrix& y,
                                       std::int32_t* chosen) {
  const auto places = static_cast<std::size_t>(window.out_pixels()),
             pixels = static_cast<std::size_t>(window.pixels());
  const std::size_t channels = x.columns;
  launch_samples("max_pool_forward", window, x, [=](std::size_t sample) {
    for (std::size_t p = 0; p < places; ++p) {
      float* best = y.at<float>(sample * places + p);
      std::int32_t* best_place = chosen + (sample * places + p) * channels;
      bool first = true;
      Place(window, static_cast<std::int64_t>(p))
          .for_each_pixel(window, [&](std::size_t pixel, std::int32_t place) {
            const float* from = x.at<float>(sample * pixels + pixel);
            for (std::size_t c = 0; c < channels; ++c) {
              const bool takes =
                  first || from[c] > best[c] || (std::isnan(from[c]) && !std::isnan(best[c]));
              best[c] = takes ? from[c] : best[c];
              best_place[c] = takes ? place : best_place[c];
            }
            first = false;
          });
    }
  });
}

void HostFeatureMaps::max_pool_backward(const Window& window, const Matrix& dy,
                                        const std::int32_t* chosen, const Matrix& dx) {
  const auto places = static_cast<std::size_t>(window.out_pixels()),
             pixels = static_cast<std::size_t>(window.pixels());
  const std::size_t channels = dx.columns;
  launch_samples("max_pool_backward", window, dx, [=](std::size_t sample) {
    std::fill_n(dx.at<float>(sample * pixels), pixels * channels, 0.0F);
    for (std::size_t p = 0; p < places; ++p) {
      const float* gradient = dy.at<float>(sample * places + p);
      const std::int32_t* best_place = chosen + (sample * places + p) * channels;
      Place(window, static_cast<std::int64_t>(p))
          .for_each_pixel(window, [&](std::size_t pixel, std::int32_t place) {
            float* to = dx.at<float>(sample * pixels + pixel);
            for (std::size_t c = 0; c < channels; ++c)
              to[c] += best_place[c] == place ? gradient[c] : 0.0F;
          });
    }
  });
}

void HostFeatureMaps::average_pool_forward(const Window& window, const Matrix& x, const Matrix& y) {
  const auto places = static_cast<std::size_t>(window.out_pixels()),
             pixels = static_cast<std::size_t>(window.pixels());
  const std::size_t channels = x.columns;
  const float share = 1.0F / static_cast<float>(window.area());
  launch_samples("average_pool_forward", window, x, [=](std::size_t sample) {
    for (std::size_t p = 0; p < places; ++p) {
      float* mean = y.at<float>(sample * places + p);
      std::fill_n(mean, channels, 0.0F);
      Place(window, static_cast<std::int64_t>(p))
          .for_each_pixel(window, [&](std::size_t pixel, std::int32_t) {
            const float* from = x.at<float>(sample * pixels + pixel);
            for (std::size_t c = 0; c < channels; ++c) mean[c] += from[c];
          });
      for (std::size_t c = 0; c < channels; ++c) mean[c] *= share;
    }
  });
}

void HostFeatureMaps::average_pool_backward(const Window& window, const Matrix& dy,
                                            const Matrix& dx) {
  const auto places = static_cast<std::size_t>(window.out_pixels()),
             pixels = static_cast<std::size_t>(window.pixels());
  const std::size_t channels = dx.columns;
  const float share = 1.0F / static_cast<float>(window.area());
  launch_samples("average_pool_backward", window, dx, [=](std::size_t sample) {
    std::fill_n(dx.at<float>(sample * pixels), pixels * channels, 0.0F);
    for (std::size_t p = 0; p < places; ++p) {
      const float* gradient = dy.at<float>(sample * places + p);
      Place(window, static_cast<std::int64_t>(p))
          .for_each_pixel(window, [&](std::size_t pixel, std::int32_t) {
            float* to = dx.at<float>(sample * pixels + pixel);
            for (std::size_t c = 0; c < channels; ++c) to[c] += share * gradient[c];
          });
    }
  });
}

void HostFeatureMaps::flatten(std::size_t samples, const Matrix& x, const Matrix& y, bool back) {
  const std::size_t channels = x.columns, pixels = samples == 0 ? 0 : x.rows / samples;
  Kokkos::parallel_for("flatten", pieces(samples), [=](std::size_t sample) {
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t p = 0; p < pixels; ++p) {
        float& of_map = *x.at<float>(sample * pixels + p, c);
        float& of_row = *y.at<float>(sample, c * pixels + p);
        (back ? of_map : of_row) = back ? of_row : of_map;
      }
    }
  });
}

HostFeatureMaps::HostFeatureMaps() : convolutions_(make_host_convolutions()) {}

FeatureMaps& host_feature_maps() {
  static HostFeatureMaps maps;
  return maps;
}

}  // namespace pptrain
