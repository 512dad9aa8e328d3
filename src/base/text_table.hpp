#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pptrain {

/// Cells of a table for people.
using Rows = std::vector<std::vector<std::string>>;

/// Rows as aligned columns, within the columns of the screen. A cell may have several lines. A row
/// may end early, one without cells is an empty line; its last cell is not padded, and continues
/// below itself where it would pass the screen. Of a table that is wider than the screen the
/// columns `may_go` (by number, each at most once) go, the first of them first; where it still is
/// too wide the words of its widest columns are put below one another. Only a word that is too long
/// by itself is left so.
std::string align(Rows rows, std::vector<std::size_t> may_go = {});

/// A bar of `width` characters of which `part` (0 to 1) is filled.
std::string bar(double part, int width);

/// "0-3, 8" of numbers in any order; of at least three with equal gaps "every 4th of 0-12".
std::string ranges(std::vector<int> numbers);

}  // namespace pptrain
