// Rotary positions against complex numbers in double.
#include <cmath>
#include <complex>
#include <vector>

#include "kernels/kernels.hpp"
#include "kernels/test_matrix.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

struct Case {
  std::size_t samples, length, heads, head_size, rotated;

  std::size_t rows() const { return samples * length; }
};
/// Whole heads, parts of heads, nothing; odd sizes.
const std::vector<Case> cases{{2, 7, 3, 16, 16}, {1, 5, 2, 24, 8}, {2, 3, 1, 80, 80},
                              {1, 9, 4, 6, 2},   {2, 4, 2, 10, 0}, {1, 33, 5, 64, 48}};

double angle(std::size_t position, std::size_t pair) {
  return static_cast<double>(position) * std::pow(10.0, -0.37 * static_cast<double>(pair)) + 0.1;
}

TestMatrix table_of(const Case& c) {
  TestMatrix table(c.length, c.rotated, DType::f32, 3);
  for (std::size_t t = 0; t < c.length; ++t) {
    for (std::size_t i = 0; i < c.rotated / 2; ++i) {
      table.set(t, i, std::cos(angle(t, i)));
      table.set(t, c.rotated / 2 + i, std::sin(angle(t, i)));
    }
  }
  return table;
}

/// Element i and the one half of the rotated ones behind it are a complex number, which is turned.
Values reference(const Case& c, const TestMatrix& x, bool back) {
  Values result = x.values();
  const std::size_t half = c.rotated / 2, width = c.heads * c.head_size;
  for (std::size_t row = 0; row < c.rows(); ++row) {
    for (std::size_t head = 0; head < c.heads; ++head) {
      for (std::size_t i = 0; i < half; ++i) {
        double &a = result[row * width + head * c.head_size + i],
               &b = result[row * width + head * c.head_size + half + i];
        const double by = angle(row % c.length, i);
        const std::complex<double> turned =
            std::complex<double>(a, b) * std::polar(1.0, back ? -by : by);
        a = turned.real();
        b = turned.imag();
      }
    }
  }
  return result;
}

}  // namespace

TEST_CASE("rotary positions turn pairs as complex numbers turn, forth and back", "[kernels]") {
  for (const DType type : all_types) {
    for (const Case& c : cases) {
      for (const bool back : {false, true}) {
        CAPTURE(type_name(type), c.samples, c.length, c.heads, c.head_size, c.rotated, back);
        TestMatrix x(c.rows(), c.heads * c.head_size, type, 5);
        x.randomise(1, 2.0);
        const TestMatrix table = table_of(c);
        const Values expected = reference(c, x, back);
        host_kernels().rotate(x, c.length, c.heads, table, back);
        REQUIRE(largest_error(x.values(), expected) < 5e-7 + rounding(type));
        REQUIRE(x.padding_is_untouched());
      }
    }
  }
}

TEST_CASE("rotating back undoes rotating, in a view of a wider matrix alone", "[kernels]") {
  const Case c{2, 11, 3, 16, 12};
  TestMatrix whole(c.rows(), 100, DType::f32);
  whole.randomise(4);
  const Values before = whole.values();
  const TestMatrix table = table_of(c);
  const Matrix view = whole.matrix().columns_from(20, c.heads * c.head_size);
  host_kernels().rotate(view, c.length, c.heads, table, false);
  const Values turned = whole.values();
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::size_t column = i % 100, in_head = (column - 20) % 16;
    if (column < 20 || column >= 68 || in_head >= 12) REQUIRE(turned[i] == before[i]);
  }
  REQUIRE(largest_error(turned, before) > 0.1);
  host_kernels().rotate(view, c.length, c.heads, table, true);
  REQUIRE(largest_error(whole.values(), before) < 5e-7);
}

TEST_CASE("a NaN in a pair stays in its pair", "[kernels]") {
  const Case c{1, 4, 2, 8, 8};
  TestMatrix x(c.rows(), 16);
  x.randomise(4);
  x.set(2, 9, NAN);
  host_kernels().rotate(x, c.length, c.heads, table_of(c), false);
  for (std::size_t column = 0; column < 16; ++column) {
    REQUIRE(std::isnan(x.get(2, column)) == (column == 9 || column == 13));
  }
}
