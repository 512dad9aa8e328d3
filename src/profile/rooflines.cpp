#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/names.hpp"
#include "profile/analytic.hpp"

namespace pptrain {
namespace {

// Efficiencies of devices of which only rates are known, fitted once, together with
// `launch_seconds`, to the layers that docs/profiles.md lists with the error that is left.
constexpr double fp32_efficiency = 0.9;          // of the FP32 units, in large products
constexpr double matrix_unit_efficiency = 0.65;  // of the tensor cores
constexpr double memory_efficiency = 0.8;

/// Whether products of a precision run on matrix units: those of 16 bits, and where a kind's rate
/// for fp32 is that of TF32, which no kind's FP32 units come near.
bool on_matrix_units(const DeviceKind& kind, Precision precision) {
  if (precision != Precision::fp32) return true;
  constexpr double least_of_tf32 = 0.4;  // of the 16-bit rate; TF32 has half of it, FP32 units a
                                         // fifteenth to an eighth
  double wide = 0.0;
  for (const char* name : {"bf16", "fp16"}) {
    if (const auto rate = kind.flops.find(name); rate != kind.flops.end())
      wide = std::max(wide, rate->second);
  }
  return wide > 0.0 && kind.flops.at("fp32") >= least_of_tf32 * wide;
}

}  // namespace

Roofline roofline_of(const DeviceKind& kind, Precision precision, const std::string& source,
                     const RuntimeTraits& runtime, const KernelConstants& constants) {
  const auto rate = kind.flops.find(to_string(precision));
  if (rate == kind.flops.end()) {
    std::vector<std::string> known;
    for (const auto& [name, value] : kind.flops) known.push_back(name);
    throw_bad_input(
        {source,
         fmt::format("device kind \"{}\" has no FLOP rate for {}", kind.name, to_string(precision)),
         known.empty() ? "an analytic profile is computed from it"
                       : "it has those for " + join(known),
         fmt::format("add flops = {{ {} = \"... TFLOP/s\" }}, or choose another precision",
                     to_string(precision))});
  }
  if (kind.memory_bandwidth <= 0.0) {
    throw_bad_input({source, fmt::format("device kind \"{}\" has no memory_bandwidth", kind.name),
                     "an analytic profile is computed from it",
                     "add memory_bandwidth = \"... GB/s\""});
  }
  const double efficiency = precision == Precision::fp32 ? fp32_efficiency : matrix_unit_efficiency;
  Roofline roofline = {efficiency * rate->second, memory_efficiency * kind.memory_bandwidth};
  const GpuKind* gpu = runtime.own ? nullptr : gpu_kind(kind.name);
  if (gpu != nullptr && on_matrix_units(kind, precision)) {
    roofline.gpu = gpu_kernels(*gpu, rate->second, element_bytes(precision), runtime, constants);
  }
  return roofline;
}

}  // namespace pptrain
