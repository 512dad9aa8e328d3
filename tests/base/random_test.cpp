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

}  // namespace
}  // namespace pptrain
