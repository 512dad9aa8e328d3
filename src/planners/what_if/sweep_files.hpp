#pragma once

#include <string>
#include <vector>

#include "base/key_table.hpp"
#include "planners/what_if/sweep.hpp"

namespace pptrain {

/// The points of a sweep as one table of as many columns as the screen has, a mark at those on the
/// front of time and money, and the sentences of `sweep_answers`.
std::string sweep_text(const Sweep& sweep);

/// The points as CSV: a line of names, then one for each point; what is not known is empty.
std::string sweep_csv(const Sweep& sweep);

/// `pptrain.sweep/1`.
std::string sweep_json(const Sweep& sweep);

/// The keys of that document.
namespace sweep_keys {
extern const KeyTable root;
extern const KeyTable axis;
extern const KeyTable point;
std::vector<KeyTable> all();
}  // namespace sweep_keys

}  // namespace pptrain
