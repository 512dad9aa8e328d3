// What draws images: larger feature maps, their pixels in other orders, and how far they are from
// what they should be.
#include <cmath>

#include "cuda/feature_maps.hpp"
#include "cuda/maps.hpp"
#include "cuda/sums.hpp"
#include "kernels/bodies/cubic.hpp"
#include "kernels/bodies/typed_rows.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;
using bodies::CubicTaps;

namespace {

/// Height and width of a map, for device code.
struct Side {
  int height, width;
  explicit Side(const MapSize& map)
      : height(static_cast<int>(map.height)), width(static_cast<int>(map.width)) {}
  PPTRAIN_FUNCTION std::size_t pixels() const { return static_cast<std::size_t>(height) * width; }
};

struct EnlargeCubic {
  Side map;
  Rows<const float> x;
  Rows<float> y;

  PPTRAIN_FUNCTION void operator()(std::size_t row, std::size_t channel) const {
    const std::size_t sample = row / (4 * map.pixels());
    const int pixel = static_cast<int>(row % (4 * map.pixels()));
    const CubicTaps rows(pixel / (2 * map.width), map.height),
        columns(pixel % (2 * map.width), map.width);
    float sum = 0;
    for (int r = 0; r < 4; ++r) {
      for (int c = 0; c < 4; ++c) {
        const std::size_t from =
            sample * map.pixels() +
            static_cast<std::size_t>(rows.pixel[r] * map.width + columns.pixel[c]);
        sum += rows.weight[r] * columns.weight[c] * x.row(from)[channel];
      }
    }
    y.row(row)[channel] = sum;
  }
};

/// A pixel is read by those of the larger map that are at most so many from twice its place, and a
/// few more at the edges.
struct EnlargeCubicBackward {
  Side map;
  Rows<const float> dy;
  Rows<float> dx;

  PPTRAIN_FUNCTION void operator()(std::size_t row, std::size_t channel) const {
    constexpr int reach = 6;
    const std::size_t sample = row / map.pixels();
    const int pixel = static_cast<int>(row % map.pixels()), own_row = pixel / map.width,
              own_column = pixel % map.width;
    float sum = 0;
    for (int i = first(2 * own_row - reach); i < 2 * map.height && i <= 2 * own_row + reach; ++i) {
      const CubicTaps rows(i, map.height);
      for (int j = first(2 * own_column - reach); j < 2 * map.width && j <= 2 * own_column + reach;
           ++j) {
        const CubicTaps columns(j, map.width);
        const std::size_t to =
            sample * 4 * map.pixels() + static_cast<std::size_t>(i * 2 * map.width + j);
        for (int r = 0; r < 4; ++r) {
          if (rows.pixel[r] != own_row) continue;
          for (int c = 0; c < 4; ++c) {
            if (columns.pixel[c] == own_column)
              sum += rows.weight[r] * columns.weight[c] * dy.row(to)[channel];
          }
        }
      }
    }
    dx.row(row)[channel] = sum;
  }

 private:
  PPTRAIN_FUNCTION static int first(int at) { return at < 0 ? 0 : at; }
};

/// Channel 4 c + 2 i + j of pixel (row, column) is channel c of pixel (2 row + i, 2 column + j).
struct Shuffle {
  Side map;
  Rows<float> small, large;
  bool back;

  PPTRAIN_FUNCTION void operator()(std::size_t row, std::size_t channel) const {
    const std::size_t sample = row / map.pixels();
    const int pixel = static_cast<int>(row % map.pixels()), part = static_cast<int>(channel % 4);
    const int to =
        (2 * (pixel / map.width) + part / 2) * 2 * map.width + 2 * (pixel % map.width) + part % 2;
    float& of_large =
        large.row(sample * 4 * map.pixels() + static_cast<std::size_t>(to))[channel / 4];
    float& of_small = small.row(row)[channel];
    if (back) {
      of_small = of_large;
    } else {
      of_large = of_small;
    }
  }
};

struct OrderTiles {
  Side map;
  int side;
  Rows<const float> x;
  Rows<float> y;
  bool back;

  PPTRAIN_FUNCTION void operator()(std::size_t row, std::size_t channel) const {
    const std::size_t first = row / map.pixels() * map.pixels();
    const int pixel = static_cast<int>(row % map.pixels()), at_row = pixel / map.width,
              at_column = pixel % map.width;
    const int tile = at_row / side * (map.width / side) + at_column / side;
    const std::size_t in_tiles =
        first +
        static_cast<std::size_t>(tile * side * side + at_row % side * side + at_column % side);
    y.row(back ? row : in_tiles)[channel] = x.row(back ? in_tiles : row)[channel];
  }
};

struct SquaredDifference {
  const float *x, *goal;
  double factor;
  PPTRAIN_FUNCTION double operator()(std::size_t i) const {
    const double difference = static_cast<double>(x[i]) - static_cast<double>(goal[i]);
    return factor * (difference * difference);
  }
};
struct SquareLossGradient {
  float* x;
  const float* goal;
  float factor;
  PPTRAIN_FUNCTION void operator()(std::size_t, std::size_t i) const {
    x[i] = 2.0f * factor * (x[i] - goal[i]);
  }
};

}  // namespace

void CudaFeatureMaps::enlarge(EnlargeKind kind, const MapSize& map, const Matrix& x,
                              const Matrix& y) {
  if (kind == EnlargeKind::shuffle) {
    launch_numbers(device_.stream(), x.rows, x.columns,
                   Shuffle{Side(map), write_rows<float>(x), write_rows<float>(y), false});
  } else {
    launch_numbers(device_.stream(), y.rows, y.columns,
                   EnlargeCubic{Side(map), read_rows<float>(x), write_rows<float>(y)});
  }
}

void CudaFeatureMaps::enlarge_backward(EnlargeKind kind, const MapSize& map, const Matrix& dy,
                                       const Matrix& dx) {
  if (kind == EnlargeKind::shuffle) {
    launch_numbers(device_.stream(), dx.rows, dx.columns,
                   Shuffle{Side(map), write_rows<float>(dx), write_rows<float>(dy), true});
  } else {
    launch_numbers(device_.stream(), dx.rows, dx.columns,
                   EnlargeCubicBackward{Side(map), read_rows<float>(dy), write_rows<float>(dx)});
  }
}

void CudaFeatureMaps::order_tiles(const MapSize& map, std::int64_t side, const Matrix& x,
                                  const Matrix& y, bool back) {
  launch_numbers(device_.stream(), x.rows, x.columns,
                 OrderTiles{Side(map), static_cast<int>(side), read_rows<float>(x),
                            write_rows<float>(y), back});
}

void CudaFeatureMaps::square_loss(const Matrix& x, const float* goal, double factor, double* loss) {
  launch_sum(device_.stream(), x.size(), SquaredDifference{x.f32(), goal, factor},
             scratch_.take<double>(most_partial_sums), loss);
}

void CudaFeatureMaps::square_loss_gradient(const Matrix& x, const float* goal, float factor) {
  launch_numbers(device_.stream(), 1, x.size(), SquareLossGradient{x.f32(), goal, factor});
}

}  // namespace pptrain
