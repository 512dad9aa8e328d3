#pragma once

#include <optional>
#include <string>

#include "weights/config_json.hpp"

namespace pptrain {

/// What `config.json` says of rotary positions, in either spelling.
struct RotaryConfig {
  std::string type = "default";  ///< "default", "linear", "llama3", "yarn" and others, as
                                 ///< transformers names them
  double theta = 0.0;            ///< the base of the frequencies
  /// Where the type's own keys are, as `factor`; nothing where none can be.
  std::optional<ConfigJson> details;
};

/// Reads `rope_parameters`, which transformers 5 writes, or `rope_theta` and `rope_scaling` of
/// transformers 4. Where `rope_parameters` stand, their `rope_theta` counts before the one at the
/// top, as in transformers, with a notice where the two differ; `rope_scaling` beside them throws
/// `Error` (exit code 2) as `ConfigJson` does.
///
/// `fallback_theta`: the family's default; `theta_key`: its name at the top, as GPT-NeoX's
/// `rotary_emb_base`. Families ask `details` for the keys of the types that they know and refuse
/// other types.
RotaryConfig read_rotary(const ConfigJson& config, double fallback_theta,
                         const std::string& theta_key = "rope_theta");

/// Reads the rotary positions of one kind of layers where kinds differ: `rope_parameters` then has
/// an object for each `kind`, as "full_attention". Transformers 4 has the key `theta_key` for each,
/// and `rope_scaling` for those that `may_be_scaled`.
RotaryConfig read_rotary_of_kind(const ConfigJson& config, const std::string& kind,
                                 double fallback_theta, const std::string& theta_key,
                                 bool may_be_scaled);

}  // namespace pptrain
