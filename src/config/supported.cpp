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

void refuse_parallelism(const Config& c) {
  const ParallelismConfig& p = c.parallelism;
  refuse(c, p.offload, "parallelism.offload", "offload = true", "there is no host memory to offload to",
         "use offload = false");
}

}  // namespace

void refuse_unsupported(const Config& config) { refuse_parallelism(config); }

}  // namespace pptrain
