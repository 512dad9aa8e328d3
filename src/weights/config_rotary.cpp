#include "weights/config_rotary.hpp"

#include <fmt/format.h>

#include "base/log_once.hpp"

namespace pptrain {
namespace {

/// The type in `rope_scaling`, which had the key `type` before it had `rope_type`; files of the
/// time between have both.
std::string type_of(const ConfigJson& scaling) {
  const std::string older = scaling.text("type", "default");
  const std::string newer = scaling.text("rope_type", older);
  if (scaling.has("type") && newer != older) {
    scaling.refuse("type", fmt::format("is \"{}\"", older),
                   fmt::format("rope_type is \"{}\"", newer), "keep one of them");
  }
  return newer;
}

/// `parameters`: what holds for the layers that are asked about; nothing: all of it is left out.
RotaryConfig read_newer(const ConfigJson& config, const std::optional<ConfigJson>& parameters,
                        double fallback_theta, const std::string& theta_key) {
  const double at_top = config.number(theta_key, fallback_theta);
  RotaryConfig rotary{"default", at_top, parameters};
  if (parameters) {
    rotary.type = type_of(*parameters);
    rotary.theta = parameters->number("rope_theta", at_top);
  }
  if (config.has(theta_key) && rotary.theta != at_top) {
    log_notice_once(
        fmt::format("{} is {} in rope_parameters and {} outside of them: {} counts, "
                    "as in transformers",
                    theta_key, rotary.theta, at_top, rotary.theta));
  }
  if (config.has("rope_scaling")) {
    config.refuse("rope_scaling", "stands beside rope_parameters",
                  "both say how positions are scaled", "keep rope_parameters");
  }
  return rotary;
}

}  // namespace

RotaryConfig read_rotary(const ConfigJson& config, double fallback_theta,
                         const std::string& theta_key) {
  if (config.has("rope_parameters"))
    return read_newer(config, config.object("rope_parameters"), fallback_theta, theta_key);
  RotaryConfig rotary{"default", config.number(theta_key, fallback_theta), std::nullopt};
  if (config.has("rope_scaling")) {
    rotary.details = config.object("rope_scaling");
    rotary.type = type_of(*rotary.details);
  }
  return rotary;
}

RotaryConfig read_rotary_of_kind(const ConfigJson& config, const std::string& kind,
                                 double fallback_theta, const std::string& theta_key,
                                 bool may_be_scaled) {
  if (!config.has("rope_parameters")) {
    if (may_be_scaled) return read_rotary(config, fallback_theta, theta_key);
    return {"default", config.number(theta_key, fallback_theta), std::nullopt};
  }
  const ConfigJson all = config.object("rope_parameters");
  std::optional<ConfigJson> own;
  if (all.has(kind)) own = all.object(kind);
  return read_newer(config, own, fallback_theta, theta_key);
}

}  // namespace pptrain
