#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "weights/config_json.hpp"

namespace pptrain {

/// The family of a `model_type`: itself, or the one that has it among its `text_types`; `type`
/// where there is none.
std::string family_of_text(const std::string& type);

/// What describes the model of texts: the whole of a `config.json`, or the object `text_config` of
/// one whose `model_type` is no family and that has a part for texts among others, as for images. A
/// notice says so. A text type with a size left out, which its class sets otherwise than the
/// family's does, throws `Error` (exit code 2).
ConfigJson text_part(const ConfigJson& config);

/// Keys at the top of a text type's file that say where images stand in a text, and the part for
/// images itself.
const std::vector<std::string>& keys_beside_text();

/// The `config.json` of the text model alone, as the family's class reads it: `whole` without the
/// other parts.
nlohmann::ordered_json text_description(const nlohmann::ordered_json& whole,
                                        const std::string& family);

}  // namespace pptrain
