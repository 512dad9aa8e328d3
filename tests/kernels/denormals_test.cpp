// What computes on the host treats denormal numbers as zero.
#include <thread>

#include "kernels/backend.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

constexpr float tiny = 1e-20F;  // its square is denormal
constexpr float denormal = 1e-40F;

/// Written so that no compiler computes it beforehand.
float product(float a, float b) {
  const volatile float x = a, y = b;
  return x * y;
}

}  // namespace

TEST_CASE("denormal results and operands are zero where the host computes", "[kernels]") {
  const Backend host = host_backend();
  CHECK(product(tiny, tiny) == 0.0F);
  CHECK(product(denormal, 1e10F) == 0.0F);
  float in_thread = 1.0F;
  std::thread([&] { in_thread = product(denormal, 1e10F); }).join();
  CHECK(in_thread == 0.0F);

  // By the library that multiplies matrices, small and large.
  for (const std::size_t n : {std::size_t{4}, std::size_t{256}}) {
    std::vector<float> a(n * n, tiny), b(n * n, tiny), c(n * n, 1.0F);
    host.gemm.multiply(Transpose::no, {a.data(), n, n}, Transpose::no, {b.data(), n, n},
                       {c.data(), n, n}, {});
    CHECK(std::all_of(c.begin(), c.end(), [](float value) { return value == 0.0F; }));
  }
}
