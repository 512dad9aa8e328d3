#pragma once

#include <vector>

#include "base/key_table.hpp"

/// The keys of PROFILE.json.
namespace pptrain::profile_keys {

extern const KeyTable root;
extern const KeyTable bytes_per_parameter;
extern const KeyTable error_band;
extern const KeyTable communication;
extern const KeyTable layer;
extern const KeyTable row;
extern const KeyTable update;

/// All objects, in the order of the file.
std::vector<KeyTable> all();

}  // namespace pptrain::profile_keys
