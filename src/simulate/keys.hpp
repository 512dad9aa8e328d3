#pragma once

#include <vector>

#include "base/key_table.hpp"

/// The keys of what `pptrain simulate --format json` prints.
namespace pptrain::simulation_keys {

extern const KeyTable root;
extern const KeyTable rank;

/// All objects, in the order of the document.
std::vector<KeyTable> all();

}  // namespace pptrain::simulation_keys
