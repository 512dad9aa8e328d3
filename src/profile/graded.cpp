#include "profile/graded.hpp"

#include <fmt/format.h>

#include <functional>

#include "profile/gpu_kinds.hpp"

namespace pptrain {
namespace {

constexpr int few = 5;  // runs that say something of their like

/// The mean of all graded runs that are alike; nothing where there are few.
std::optional<ErrorBand> mean_of(const std::function<bool(const GradedRuns&)>& alike,
                                 const std::string& of) {
  ErrorBand band;
  band.of = of;
  for (const GradedRuns& graded : graded_runs()) {
    if (!alike(graded)) continue;
    band.runs += graded.runs;
    band.relative += graded.runs * graded.error;
  }
  if (band.runs < few) return {};
  band.relative /= band.runs;
  return band;
}

std::optional<ErrorBand> band_of(const std::string& kind, const RuntimeTraits& runtime) {
  const GpuKind* gpu = gpu_kind(kind);
  if (gpu == nullptr) return {};
  const auto on_kind = [&](const GradedRuns& graded) { return gpu_kind(graded.gpu) == gpu; };
  const auto in_runtime = [&](const std::string& name) {
    return mean_of(
        [&](const GradedRuns& graded) { return on_kind(graded) && graded.runtime == name; },
        fmt::format("{}, like {}", kind, name));
  };
  const auto on_architecture = [&](const GradedRuns& graded) {
    return gpu_kind(graded.gpu)->architecture == gpu->architecture;
  };
  for (const std::string& name : {runtime.name, runtime.kernels}) {
    if (const auto band = in_runtime(name)) return band;
  }
  if (const auto band = mean_of(on_kind, kind)) return band;
  if (const auto band = mean_of(on_architecture, fmt::format("{} GPUs", gpu->architecture)))
    return band;
  return mean_of([](const GradedRuns&) { return true; }, "other GPUs");
}

}  // namespace

const std::vector<GradedRuns>& graded_runs() {
  static const std::vector<GradedRuns> graded = {
#include "profile/graded_runs.inc"
  };
  return graded;
}

std::optional<ErrorBand> error_band_of(const std::vector<std::string>& kinds,
                                       const RuntimeTraits& runtime) {
  std::optional<ErrorBand> widest;
  for (const std::string& kind : kinds) {
    const std::optional<ErrorBand> band = band_of(kind, runtime);
    if (!band) return {};
    if (!widest || band->relative > widest->relative) widest = band;
  }
  return widest;
}

}  // namespace pptrain
