#pragma once

#include <vector>

#include "base/key_table.hpp"

/// The keys of CLUSTER.toml.
namespace pptrain::cluster_keys {

extern const KeyTable root;
extern const KeyTable device;
extern const KeyTable flops;
extern const KeyTable node;
extern const KeyTable devices;
extern const KeyTable link;
extern const KeyTable core_seconds;
extern const KeyTable switches;

/// All tables, in the order of the file.
std::vector<KeyTable> all();

}  // namespace pptrain::cluster_keys
