#pragma once

#include <string>

#include "config/config.hpp"

namespace pptrain {

/// The configuration with the places of its keys as one text, to send it to other ranks.
/// What is read back names the same lines of the user's file in messages.
std::string pack_config(const Config& config);
Config unpack_config(const std::string& packed);

}  // namespace pptrain
