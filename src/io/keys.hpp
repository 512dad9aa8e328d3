#pragma once

#include <vector>

#include "base/key_table.hpp"

/// What a run leaves: its files, and what is in those that are HDF5.
namespace pptrain::io_keys {

extern const KeyTable run_directory;
extern const KeyTable placement;    ///< entries of placement.json
extern const KeyTable environment;  ///< attributes of /environment of metrics.h5
extern const KeyTable checkpoint;
extern const KeyTable state;  ///< datasets of /state of a checkpoint

/// All series of metrics.h5 by group: the type is shape and unit.
std::vector<KeyTable> metrics();

}  // namespace pptrain::io_keys
