#include "config/supported.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// Throws where `asked`, with the setting as written, what is missing and what works.
void refuse(const Config& config, bool asked, const std::string& key, const std::string& setting,
            const std::string& missing, const std::string& instead) {
  if (!asked) return;
  throw_bad_input({config.where(key), setting + " is not supported by this version", missing, instead});
}

void refuse_training(const Config& c) {
  refuse(c, c.training.precision == Precision::fp16, "training.precision", "precision = \"fp16\"",
         "fp16 needs GPUs and loss scaling", "use precision = \"bf16\"");
}

void refuse_parallelism(const Config& c) {
  const ParallelismConfig& p = c.parallelism;
  refuse(c, p.offload, "parallelism.offload", "offload = true", "there is no host memory to offload to",
         "use offload = false");
}

}  // namespace

void refuse_unsupported(const Config& config) {
  refuse_training(config);
  refuse_parallelism(config);
}

}  // namespace pptrain
