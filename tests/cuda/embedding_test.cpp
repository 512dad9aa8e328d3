#include <vector>

#include "cuda/twin.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

struct Size {
  std::size_t samples, length, columns, vocabulary;
};
const std::vector<Size> sizes{{1, 1, 1, 1}, {3, 5, 33, 7}, {4, 300, 12, 50257}, {2, 16, 770, 3}};

/// Tokens of which the small ones are frequent, as in text.
std::vector<std::uint32_t> some_tokens(const Size& size, std::uint64_t seed) {
  const CounterRandom random(seed, "tokens");
  std::vector<std::uint32_t> tokens;
  for (std::size_t i = 0; i < size.samples * size.length; ++i) {
    const double u = random.uniform(i);
    tokens.push_back(static_cast<std::uint32_t>(u * u * u * static_cast<double>(size.vocabulary)));
  }
  return tokens;
}

}  // namespace

TEST_CASE("the GPU embeds tokens as the host, and sums their gradients in the same order",
          "[cuda]") {
  Gpu gpu;
  const std::uint64_t seed = fresh_seed();
  for (const Size& size : sizes) {
    for (const bool whole : {true, false}) {
      CAPTURE(size.samples, size.length, size.columns, size.vocabulary, whole, seed);
      const std::size_t rows = size.samples * size.length, first = whole ? 0 : size.vocabulary / 3,
                        words = size.vocabulary - first;
      const auto shift = static_cast<std::int64_t>(first);
      const std::vector<std::uint32_t> tokens = some_tokens(size, seed);
      const DeviceValues<std::uint32_t> device_tokens(gpu, tokens);
      Twin embedding(gpu, words, size.columns), positions(gpu, size.length, size.columns),
          x(gpu, rows, size.columns, DType::f32, {3, 1});
      embedding.randomise(seed);
      positions.randomise(seed + 1);
      host_kernels().embedding_forward({tokens.data(), size.length, shift}, embedding.host(),
                                       positions.host(), whole, x.host());
      gpu.kernels.embedding_forward({device_tokens.data(), size.length, shift}, embedding.device(),
                                    positions.device(), whole, x.device());
      REQUIRE(x.same_bytes());
      x.randomise(seed + 2);
      const Matrix none;
      host_kernels().embedding_backward({tokens.data(), size.length, shift}, x.host(),
                                        embedding.host(), whole ? positions.host() : none);
      gpu.kernels.embedding_backward({device_tokens.data(), size.length, shift}, x.device(),
                                     embedding.device(), whole ? positions.device() : none);
      REQUIRE(embedding.same_bytes());
      REQUIRE(positions.same_bytes());
    }
  }
}
