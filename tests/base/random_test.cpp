#include "base/random.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("random numbers depend on seed, stream and index alone and are normal", "[base]") {
  const CounterRandom random(1234, "h.0.attn.c_attn.weight");
  CHECK(random.bits(7) == CounterRandom(1234, "h.0.attn.c_attn.weight").bits(7));
  CHECK(random.bits(7) != random.bits(8));
  CHECK(random.bits(7) != CounterRandom(1235, "h.0.attn.c_attn.weight").bits(7));
  CHECK(random.bits(7) != CounterRandom(1234, "h.1.attn.c_attn.weight").bits(7));
  constexpr int count = 100000;
  std::vector<float> x(count);
  random.fill_normal(0, count, x.data());
  double mean = 0.0;
  double square = 0.0;
  for (const float value : x) {
    mean += value / static_cast<double>(count);
    square += static_cast<double>(value) * value / count;
  }
  CHECK(std::abs(mean) < 0.01);            // three deviations of the mean of 1e5 values
  CHECK(std::abs(square - 1.0) < 0.0135);  // three deviations of their variance
  std::vector<float> part(10);
  random.fill_normal(4711, 10, part.data());
  CHECK(std::equal(part.begin(), part.end(), x.begin() + 4711));
}

// Expected values of these are those of a plain Philox 4x32-10 that agrees with the known answers
// of its authors.
TEST_CASE("bits are those of Philox, whose counter is index and stream and whose key is the seed",
          "[base]") {
  CHECK(stream_of("") == 0xcbf29ce484222325U);  // FNV-1a's own values
  CHECK(stream_of("a") == 0xaf63dc4c8601ec8cU);
  CHECK(stream_of("foobar") == 0x85944171f73967e8U);
  CHECK(CounterRandom(1234, "h.0.attn.c_attn.weight").bits(7) == 0xadf25c3bf0a7a96eU);
  CHECK(CounterRandom((std::uint64_t{1} << 40) + 5, "order").bits((std::uint64_t{1} << 33) + 1) ==
        0x308f26003584522dU);
  CHECK(CounterRandom(1234, "h.0.attn.c_attn.weight").uniform(7) == 0.6794793745363267);
}

TEST_CASE("normal numbers are those of Box and Muller", "[base]") {
  const std::vector<double> expected = {0.9072497520084953, -0.7639105139149989, 0.7142337854417656,
                                        -0.20405773751938852};
  std::vector<float> found(4);
  CounterRandom(1234, "x").fill_normal(0, 4, found.data());
  // The angle, 2 pi at most, is rounded three times in fp32, by 2^-24 of it.
  for (std::size_t i = 0; i < 4; ++i) CHECK(found[i] == Approx(expected[i]).margin(2e-6));
}

}  // namespace
}  // namespace pptrain
