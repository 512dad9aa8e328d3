#include <cstdint>
#include <vector>

#include "kernels/kernels.hpp"
#include "kernels/test_matrix.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

constexpr std::size_t vocabulary = 11, length = 3, samples = 4, rows = samples * length;
const std::vector<std::uint32_t> tokens{0, 10, 5, 5, 5, 5, 3, 9, 10, 0, 7, 2};

}  // namespace

TEST_CASE("embedding over shards of the vocabulary sums to the whole", "[kernels]") {
  for (const std::size_t columns : {1, 33, 1500}) {
    CAPTURE(columns);
    TestMatrix words(vocabulary, columns, DType::f32, 2), places(length, columns, DType::f32, 1);
    words.randomise(1);
    places.randomise(2);
    Values expected, sum(rows * columns, 0.0);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c)
        expected.push_back(words.get(tokens[r], c) + places.get(r % length, c));
    }
    const std::vector<std::size_t> bounds{0, 4, 5, vocabulary};
    for (std::size_t i = 0; i < 3; ++i) {
      TestMatrix x(rows, columns, DType::f32, 3);
      host_kernels().embedding_forward(
          {tokens.data(), length, static_cast<std::int64_t>(bounds[i])},
          words.matrix().rows_from(bounds[i], bounds[i + 1] - bounds[i]), places, i == 1, x);
      const Values part = x.values();
      for (std::size_t e = 0; e < part.size(); ++e) sum[e] += part[e];
      REQUIRE(x.padding_is_untouched());
    }
    REQUIRE(largest_error(sum, expected) < 2e-7);
  }
}

TEST_CASE("embedding gradients add up over equal tokens and over samples", "[kernels]") {
  for (const std::size_t columns : {1, 33, 1500}) {
    CAPTURE(columns);
    TestMatrix dx(rows, columns, DType::f32, 1), dwords(vocabulary, columns),
        dplaces(length, columns);
    dx.randomise(1);
    dwords.randomise(2);
    dplaces.randomise(3);
    Values expected_words = dwords.values(), expected_places = dplaces.values();
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) {
        if (tokens[r] >= 4) expected_words[tokens[r] * columns + c] += dx.get(r, c);
        expected_places[r % length * columns + c] += dx.get(r, c);
      }
    }
    host_kernels().embedding_backward({tokens.data(), length, 4}, dx,
                                      dwords.matrix().rows_from(4, vocabulary - 4), dplaces);
    REQUIRE(largest_error(dwords.values(), expected_words) < 5e-7);
    REQUIRE(largest_error(dplaces.values(), expected_places) < 5e-7);
  }
}

TEST_CASE("a shard that does not hold the positions leaves their gradient alone", "[kernels]") {
  TestMatrix dx(rows, 5), dwords(vocabulary, 5);
  dx.randomise(1);
  dwords.randomise(2, 0.0);
  host_kernels().embedding_backward({tokens.data(), length, 0}, dx, dwords, Matrix());
  REQUIRE(dwords.get(7, 2) == dx.get(10, 2));
}
