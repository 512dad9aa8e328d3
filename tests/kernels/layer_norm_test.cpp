#include <cmath>
#include <vector>

#include "kernels/kernels.hpp"
#include "kernels/test_matrix.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

struct Size {
  std::size_t rows, columns;
};
const std::vector<Size> sizes{{1, 1}, {1, 64}, {3, 5}, {17, 33}, {16, 256}, {35, 770}};

/// LayerNorm of one row in double, and what its backward pass needs.
struct Row {
  std::vector<double> hat;
  double mean = 0, rstd = 0;

  explicit Row(const std::vector<double>& x) : hat(x.size()) {
    const auto n = static_cast<double>(x.size());
    for (const double v : x) mean += v / n;
    double variance = 0;
    for (const double v : x) variance += (v - mean) * (v - mean) / n;
    rstd = 1.0 / std::sqrt(variance + 1e-5);
    for (std::size_t c = 0; c < x.size(); ++c) hat[c] = (x[c] - mean) * rstd;
  }

  /// d loss / dx given g = d loss / dhat.
  std::vector<double> backward(const std::vector<double>& g) const {
    const auto n = static_cast<double>(hat.size());
    double along_one = 0, along_hat = 0;
    for (std::size_t c = 0; c < hat.size(); ++c) {
      along_one += g[c] / n;
      along_hat += g[c] * hat[c] / n;
    }
    std::vector<double> dx(hat.size());
    for (std::size_t c = 0; c < hat.size(); ++c)
      dx[c] = rstd * (g[c] - along_one - hat[c] * along_hat);
    return dx;
  }
};

std::vector<double> row_of(const TestMatrix& matrix, std::size_t row) {
  std::vector<double> values;
  for (std::size_t c = 0; c < matrix.matrix().columns; ++c) values.push_back(matrix.get(row, c));
  return values;
}

/// Inputs of the backward pass, with the statistics that the forward leaves.
struct Backward {
  TestMatrix d, x, residual, gain, offset, mean, rstd, dgain, doffset, dx, normalised;

  Backward(Size size, DType gradient_type, DType type)
      : d(size.rows, size.columns, gradient_type, 1),
        x(size.rows, size.columns, DType::f32, 2),
        residual(size.rows, size.columns, DType::f32, 3),
        gain(1, size.columns),
        offset(1, size.columns),
        mean(1, size.rows),
        rstd(1, size.rows),
        dgain(1, size.columns),
        doffset(1, size.columns),
        dx(size.rows, size.columns, DType::f32, 4),
        normalised(size.rows, size.columns, type, 5) {
    d.randomise(1);
    x.randomise(2, 2.0, 3.0);
    residual.randomise(3);
    gain.randomise(4, 0.5, 1.0);
    offset.randomise(5);
    dgain.randomise(6);
    doffset.randomise(7);
    for (std::size_t r = 0; r < size.rows; ++r) {
      const Row row(row_of(x, r));
      mean.set(0, r, row.mean);
      rstd.set(0, r, row.rstd);
    }
  }

  void run(bool with_residual, bool with_normalised) {
    Matrix no_normalised;
    no_normalised.type = normalised.matrix().type;
    host_kernels().norm_backward({{},
                                  d,
                                  x,
                                  mean.f32(),
                                  rstd.f32(),
                                  gain.f32(),
                                  offset.f32(),
                                  with_residual ? residual.matrix() : Matrix(),
                                  dx,
                                  dgain.f32(),
                                  doffset.f32(),
                                  with_normalised ? normalised.matrix() : no_normalised});
  }
};

void check_forward(Size size, DType type, bool with_y) {
  TestMatrix x(size.rows, size.columns, DType::f32, 3), y(size.rows, size.columns),
      bias(1, size.columns), sum(size.rows, size.columns, DType::f32, 1), gain(1, size.columns),
      offset(1, size.columns), normalised(size.rows, size.columns, type, 2), mean(1, size.rows),
      rstd(1, size.rows);
  x.randomise(1, 2.0, 5.0);
  y.randomise(2);
  bias.randomise(3);
  gain.randomise(4);
  offset.randomise(5);
  host_kernels().residual_norm_forward({{},
                                        x,
                                        with_y ? y.matrix() : Matrix(),
                                        with_y ? bias.f32() : nullptr,
                                        with_y ? sum.matrix() : Matrix(),
                                        gain.f32(),
                                        offset.f32(),
                                        normalised,
                                        mean.f32(),
                                        rstd.f32()});
  Values sums, outputs, means, rstds;
  for (std::size_t r = 0; r < size.rows; ++r) {
    std::vector<double> source = row_of(x, r);
    for (std::size_t c = 0; c < size.columns && with_y; ++c)
      source[c] += y.get(r, c) + bias.get(0, c);
    sums.insert(sums.end(), source.begin(), source.end());
    const Row row(source);
    means.push_back(row.mean);
    rstds.push_back(row.rstd);
    for (std::size_t c = 0; c < size.columns; ++c)
      outputs.push_back(row.hat[c] * gain.get(0, c) + offset.get(0, c));
  }
  if (with_y) REQUIRE(largest_error(sum.values(), sums) < 2e-7);
  REQUIRE(largest_error(mean.values(), means) < 5e-7);
  if (size.columns > 1) REQUIRE(largest_error(rstd.values(), rstds) < 5e-6);
  if (size.columns > 1)
    REQUIRE(largest_error(normalised.values(), outputs) < 5e-6 + rounding(type));
  REQUIRE((sum.padding_is_untouched() && normalised.padding_is_untouched()));
}

}  // namespace

TEST_CASE("residual LayerNorm against double", "[kernels]") {
  for (const Size size : sizes) {
    for (const DType type : all_types) {
      for (const bool with_y : {true, false}) {
        CAPTURE(size.rows, size.columns, type_name(type), with_y);
        check_forward(size, type, with_y);
      }
    }
  }
}

TEST_CASE("LayerNorm of a constant row is its offset", "[kernels]") {
  TestMatrix x(1, 40), gain(1, 40), offset(1, 40), normalised(1, 40), mean(1, 1), rstd(1, 1);
  x.randomise(1, 0.0, 2.0);
  gain.randomise(2);
  offset.randomise(3);
  host_kernels().residual_norm_forward({{},
                                        x,
                                        Matrix(),
                                        nullptr,
                                        Matrix(),
                                        gain.f32(),
                                        offset.f32(),
                                        normalised,
                                        mean.f32(),
                                        rstd.f32()});
  REQUIRE(largest_error(normalised.values(), offset.values()) < 1e-7);
}

TEST_CASE("LayerNorm backward against double", "[kernels]") {
  for (const Size size : sizes) {
    for (const DType gradient_type : all_types) {
      for (const DType type : all_types) {
        for (const bool with_residual : {true, false}) {
          CAPTURE(size.rows, size.columns, type_name(gradient_type), type_name(type),
                  with_residual);
          Backward b(size, gradient_type, type);
          Values dx, dgain = b.dgain.values(), doffset = b.doffset.values(), normalised;
          for (std::size_t r = 0; r < size.rows; ++r) {
            const Row row(row_of(b.x, r));
            std::vector<double> g = row_of(b.d, r);
            for (std::size_t c = 0; c < size.columns; ++c) {
              dgain[c] += g[c] * row.hat[c];
              doffset[c] += g[c];
              normalised.push_back(row.hat[c] * b.gain.get(0, c) + b.offset.get(0, c));
              g[c] *= b.gain.get(0, c);
            }
            const std::vector<double> through = row.backward(g);
            for (std::size_t c = 0; c < size.columns; ++c) {
              dx.push_back(through[c] + (with_residual ? b.residual.get(r, c) : 0.0));
            }
          }
          b.run(with_residual, true);
          REQUIRE(largest_error(b.dgain.values(), dgain) < 1e-5);
          // One rounding per row of sums that may be larger on the way than at the end.
          REQUIRE(largest_error(b.doffset.values(), doffset) <
                  1.2e-7 * static_cast<double>(size.rows));
          REQUIRE(b.dx.padding_is_untouched());
          REQUIRE(b.normalised.padding_is_untouched());
          if (size.columns == 1) continue;  // rstd = 316 magnifies the rounding of the mean
          REQUIRE(largest_error(b.dx.values(), dx) < 5e-6);
          REQUIRE(largest_error(b.normalised.values(), normalised) < 2e-6 + rounding(type));
        }
      }
    }
  }
}

TEST_CASE(
    "LayerNorm backward in place of the residual gradient, without the normalised output, and "
    "twice",
    "[kernels]") {
  Backward whole({17, 33}, DType::f32, DType::bf16), in_place({17, 33}, DType::f32, DType::bf16);
  whole.run(true, true);
  host_kernels().norm_backward({{},
                                in_place.d,
                                in_place.x,
                                in_place.mean.f32(),
                                in_place.rstd.f32(),
                                in_place.gain.f32(),
                                in_place.offset.f32(),
                                in_place.residual,
                                in_place.residual,
                                in_place.dgain.f32(),
                                in_place.doffset.f32(),
                                Matrix()});
  REQUIRE(in_place.residual.values() == whole.dx.values());
  REQUIRE(in_place.dgain.bytes() == whole.dgain.bytes());
  REQUIRE(in_place.doffset.bytes() == whole.doffset.bytes());
}

TEST_CASE("a NaN in a LayerNorm's row stays in its row and in the parameter gradients",
          "[kernels]") {
  Backward b({4, 33}, DType::f32, DType::f32);
  b.d.set(2, 7, NAN);
  b.run(true, true);
  for (std::size_t c = 0; c < 33; ++c) {
    REQUIRE(std::isnan(b.dx.get(2, c)));
    REQUIRE(std::isfinite(b.dx.get(1, c)));
  }
  REQUIRE(std::isnan(b.dgain.get(0, 7)));
  REQUIRE(std::isfinite(b.dgain.get(0, 8)));
  TestMatrix normalised(4, 33), mean(1, 4), rstd(1, 4);
  b.x.set(1, 3, NAN);
  host_kernels().residual_norm_forward({{},
                                        b.x,
                                        Matrix(),
                                        nullptr,
                                        Matrix(),
                                        b.gain.f32(),
                                        b.offset.f32(),
                                        normalised,
                                        mean.f32(),
                                        rstd.f32()});
  for (std::size_t c = 0; c < 33; ++c) {
    REQUIRE(std::isnan(normalised.get(1, c)));
    REQUIRE(std::isfinite(normalised.get(0, c)));
  }
}
