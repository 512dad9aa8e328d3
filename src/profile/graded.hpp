#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profile/profile.hpp"
#include "profile/runtimes.hpp"

namespace pptrain {

/// How far predictions of published runs on one kind of GPU and in one runtime were off, as
/// `./bootstrap.sh bench published` found (docs/profiles.md).
struct GradedRuns {
  std::string gpu;      ///< the word of the kind's name that tells it apart, "a100"
  std::string runtime;  ///< as `[profile] like` names it
  int runs = 0;
  double error = 0.0;  ///< mean of |predicted / measured - 1|
};
const std::vector<GradedRuns>& graded_runs();

/// The band of a prediction for a runtime on these kinds of device: of runs on such a GPU in that
/// runtime where there are a few, else of all on such a GPU, else on GPUs of its architecture, else
/// of all; of several kinds the widest. Nothing for a kind that is no known GPU.
std::optional<ErrorBand> error_band_of(const std::vector<std::string>& kinds,
                                       const RuntimeTraits& runtime);

}  // namespace pptrain
