// What draws images: larger feature maps, their pixels in other orders, and how far they are from
// what they should be.
#include <algorithm>

#include "kernels/bodies/cubic.hpp"
#include "kernels/host/host_feature_maps.hpp"
#include "kernels/host/launch.hpp"

namespace pptrain {

using namespace kernels;

namespace {

/// visit(pixel of the larger map, pixel of the map, weight), in the order of the larger map.
template <class Visit>
void for_each_tap(const MapSize& map, const Visit& visit) {
  for (std::int64_t row = 0; row < 2 * map.height; ++row) {
    const bodies::CubicTaps rows(static_cast<int>(row), static_cast<int>(map.height));
    for (std::int64_t column = 0; column < 2 * map.width; ++column) {
      const bodies::CubicTaps columns(static_cast<int>(column), static_cast<int>(map.width));
      for (std::size_t r = 0; r < 4; ++r) {
        for (std::size_t c = 0; c < 4; ++c) {
          visit(static_cast<std::size_t>(row * 2 * map.width + column),
                static_cast<std::size_t>(rows.pixel[r] * map.width + columns.pixel[c]),
                rows.weight[r] * columns.weight[c]);
        }
      }
    }
  }
}

/// body(sample) for the samples of a map.
template <class Body>
void for_each_sample(const char* name, const MapSize& map, const Matrix& x, const Body& body) {
  Kokkos::parallel_for(name, pieces(x.rows / static_cast<std::size_t>(map.pixels())), body);
}

/// to += weight * from.
void add_weighted(float* to, const float* from, float weight, std::size_t count) {
#pragma omp simd
  for (std::size_t c = 0; c < count; ++c) to[c] += weight * from[c];
}

void enlarge_cubic(const MapSize& map, const Matrix& x, const Matrix& y) {
  const auto pixels = static_cast<std::size_t>(map.pixels());
  for_each_sample("enlarge", map, x, [=](std::size_t sample) {
    std::fill_n(y.at<float>(sample * 4 * pixels), 4 * pixels * y.columns, 0.0F);
    for_each_tap(map, [&](std::size_t to, std::size_t from, float weight) {
      add_weighted(y.at<float>(sample * 4 * pixels + to), x.at<float>(sample * pixels + from),
                   weight, x.columns);
    });
  });
}

void enlarge_cubic_backward(const MapSize& map, const Matrix& dy, const Matrix& dx) {
  const auto pixels = static_cast<std::size_t>(map.pixels());
  for_each_sample("enlarge_backward", map, dx, [=](std::size_t sample) {
    std::fill_n(dx.at<float>(sample * pixels), pixels * dx.columns, 0.0F);
    for_each_tap(map, [&](std::size_t to, std::size_t from, float weight) {
      add_weighted(dx.at<float>(sample * pixels + from), dy.at<float>(sample * 4 * pixels + to),
                   weight, dx.columns);
    });
  });
}

/// Channel 4 c + 2 i + j of pixel (row, column) is channel c of pixel (2 row + i, 2 column + j).
void shuffle(const MapSize& map, const Matrix& small, const Matrix& large, bool back) {
  const auto pixels = static_cast<std::size_t>(map.pixels()),
             width = static_cast<std::size_t>(map.width);
  for_each_sample("shuffle", map, small, [=](std::size_t sample) {
    for (std::size_t p = 0; p < pixels; ++p) {
      for (std::size_t part = 0; part < 4; ++part) {
        const std::size_t row = 2 * (p / width) + part / 2, column = 2 * (p % width) + part % 2;
        float* of_large = large.at<float>(sample * 4 * pixels + row * 2 * width + column);
        float* of_small = small.at<float>(sample * pixels + p, part);
        for (std::size_t c = 0; c < large.columns; ++c) {
          (back ? of_small[4 * c] : of_large[c]) = back ? of_large[c] : of_small[4 * c];
        }
      }
    }
  });
}

/// The place of pixel (row, column) of the map where pixels go square by square, of `side` pixels a
/// side.
std::size_t place_in_tiles(const MapSize& map, std::int64_t side, std::int64_t row,
                           std::int64_t column) {
  const std::int64_t tile = row / side * (map.width / side) + column / side;
  return static_cast<std::size_t>(tile * side * side + row % side * side + column % side);
}

}  // namespace

void HostFeatureMaps::enlarge(EnlargeKind kind, const MapSize& map, const Matrix& x,
                              const Matrix& y) {
  if (kind == EnlargeKind::shuffle) return shuffle(map, x, y, false);
  enlarge_cubic(map, x, y);
}

void HostFeatureMaps::enlarge_backward(EnlargeKind kind, const MapSize& map, const Matrix& dy,
                                       const Matrix& dx) {
  if (kind == EnlargeKind::shuffle) return shuffle(map, dx, dy, true);
  enlarge_cubic_backward(map, dy, dx);
}

void HostFeatureMaps::order_tiles(const MapSize& map, std::int64_t side, const Matrix& x,
                                  const Matrix& y, bool back) {
  const auto pixels = static_cast<std::size_t>(map.pixels());
  for_each_sample("order_tiles", map, x, [=](std::size_t sample) {
    for (std::int64_t row = 0; row < map.height; ++row) {
      for (std::int64_t column = 0; column < map.width; ++column) {
        const std::size_t in_map =
            sample * pixels + static_cast<std::size_t>(row * map.width + column);
        const std::size_t in_tiles = sample * pixels + place_in_tiles(map, side, row, column);
        std::copy_n(x.at<float>(back ? in_tiles : in_map), x.columns,
                    y.at<float>(back ? in_map : in_tiles));
      }
    }
  });
}

void HostFeatureMaps::square_loss(const Matrix& x, const float* goal, double factor, double* loss) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = static_cast<double>(x.f32()[i]) - static_cast<double>(goal[i]);
    sum += difference * difference;
  }
  *loss += factor * sum;
}

void HostFeatureMaps::square_loss_gradient(const Matrix& x, const float* goal, float factor) {
  float* values = x.f32();
  Kokkos::parallel_for("square_loss_gradient", pieces(x.rows),
                       [=, columns = x.columns](std::size_t row) {
#pragma omp simd
                         for (std::size_t i = row * columns; i < (row + 1) * columns; ++i)
                           values[i] = 2.0F * factor * (values[i] - goal[i]);
                       });
}

}  // namespace pptrain
