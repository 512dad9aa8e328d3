#include "probe/peak_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/infinity.hpp"
#include "base/timing.hpp"
#include "kernels/gemm.hpp"
#include "kernels/host/onednn_matmul.hpp"
#include "probe/topology.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {
namespace {

/// The least CPU seconds that `work` takes, of several times; the first is cold.
template <class Work>
double least_seconds(const Work& work) {
  constexpr double seconds = 0.05;
  constexpr int fewest = 4;
  double best = infinity;
  double sum = 0.0;
  for (int i = 0; i < fewest || sum < seconds; ++i) {
    const double start = thread_cpu_seconds();
    work();
    const double taken = thread_cpu_seconds() - start;
    best = std::min(best, taken);
    sum += taken;
  }
  return best;
}

/// The rate of products of two (n, n) matrices with so many terms to an element.
double best_rate(DType type, std::size_t n, std::size_t terms) {
  Arena arena;
  const Tensor a(arena, n, terms, type);
  const Tensor b(arena, terms, n, type);
  const Tensor c(arena, n, n, type);
  // All bytes are alike, so that every element is about 0.75, in fp32 and in bf16.
  for (const Tensor* operand : {&a, &b})
    std::memset(operand->matrix().data, 0x3f, operand->bytes());
  return 2.0 * static_cast<double>(n * n * terms) /
         least_seconds([&] { host_gemm().multiply(Transpose::no, a, Transpose::no, b, c); });
}

/// Products with few terms and with many may be those of different libraries.
double best_rate(DType type) {
  double best = 0.0;
  for (const std::size_t n : {512, 1024}) {
    for (const std::size_t terms : {256, 512, 1024})
      best = std::max(best, best_rate(type, n, terms));
  }
  return best;
}

/// Bytes read and written.
double best_bandwidth() {
  constexpr std::size_t bytes = std::size_t{64} << 20U;
  Arena arena;
  const Tensor from(arena, 1, bytes / sizeof(float)), to(arena, 1, bytes / sizeof(float));
  std::memset(from.matrix().data, 0x3f, bytes);
  return 2.0 * static_cast<double>(bytes) /
         least_seconds([&] { std::memcpy(to.matrix().data, from.matrix().data, bytes); });
}

}  // namespace

PeakRates measure_peak_rates() {
  const auto rounded = [](double rate) {
    return std::strtod(fmt::format("{:.2e}", rate).c_str(), nullptr);
  };
  const double fp32 = rounded(best_rate(DType::f32));
  const double bf16 =
      kernels::onednn_has_bf16() ? std::max(fp32, rounded(best_rate(DType::bf16))) : fp32;
  return {{{"fp32", fp32}, {"bf16", bf16}, {"fp16", fp32}}, rounded(best_bandwidth())};
}

std::string peak_rates_key() {
  return fmt::format("{}; {}", Topology().processor(), host_gemm().name());
}

}  // namespace pptrain
