#include "probe/gpu_rates.hpp"

namespace pptrain {
namespace {

/// FLOP of a multiprocessor per clock.
struct ClockRates {
  double fp32;  ///< twice the multiply-adds of the CUDA C++ Programming Guide's table of arithmetic
                ///< throughput
  double tf32;  ///< of dense products on the matrix units, summed in fp32; 0: it has none
  double bf16;
  double fp16;
};

/// By compute capability. Matrix units: NVIDIA's architecture papers of V100, T4, A100, GA102,
/// AD102, H100 and B200 (peak rate over multiprocessors and boost clock). GeForce cards of 8.6, 8.9
/// and 12.0 do half of that where they sum in fp32.
const std::map<int, ClockRates>& clock_rates() {
  static const std::map<int, ClockRates> rates = {
      {70, {128, 0, 0, 1024}},        {75, {128, 0, 0, 1024}},       {80, {128, 1024, 2048, 2048}},
      {86, {256, 512, 1024, 1024}},   {89, {256, 512, 1024, 1024}},  {90, {256, 2048, 4096, 4096}},
      {100, {256, 4096, 8192, 8192}}, {120, {256, 512, 1024, 1024}},
  };
  return rates;
}

}  // namespace

std::map<std::string, double> peak_flops(const GpuInfo& gpu) {
  // A capability that is not known counts as the last one before it.
  auto next = clock_rates().upper_bound(10 * gpu.major + gpu.minor);
  if (gpu.clock_hz <= 0.0 || next == clock_rates().begin()) return {};
  const ClockRates& rates = std::prev(next)->second;
  const double clocks = gpu.multiprocessors * gpu.clock_hz;
  std::map<std::string, double> flops = {{"fp32", clocks * rates.fp32},
                                         {"fp16", clocks * rates.fp16}};
  if (rates.tf32 > 0.0) flops["tf32"] = clocks * rates.tf32;
  if (rates.bf16 > 0.0) flops["bf16"] = clocks * rates.bf16;
  return flops;
}

}  // namespace pptrain
