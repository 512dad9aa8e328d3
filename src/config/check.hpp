#pragma once

#include <cstdint>
#include <string>

#include "config/config.hpp"

namespace pptrain {

/// Refuses keys that are fine one by one and contradict each other. Throws `Error` (exit code 2)
/// with the place of the key to change.
void check_config(const Config& config);

/// Refuses annotations of layers that a model of `num_layers` does not have; `layers_text` says to
/// the user how many it has. Part of `check_trainable` where the configuration knows that, else the
/// model's builder calls it. Throws as `check_config` does.
void check_annotations(const Config& config, std::int64_t num_layers,
                       const std::string& layers_text);

/// Refuses a model that this version cannot train, and degrees of parallelism beyond the layers and
/// heads of
/// `[model]`. Part of `check_config` unless `[profile] file` is given, or `analytic` for a model
/// that cannot be trained: then planning takes the layers from there.
void check_trainable(const Config& config);

}  // namespace pptrain
