#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pptrain {

/// Cells of a table for people.
using Rows = std::vector<std::vector<std::string>>;

/// Rows as aligned columns. A cell may have several lines. A row may end early; its last cell is not padded, and
/// continues below itself where it would pass the screen.
std::string align(const Rows& rows);

/// A bar of `width` characters of which `part` (0 to 1) is filled.
std::string bar(double part, int width);

/// "0-3, 8" of numbers in any order.
std::string ranges(std::vector<int> numbers);

}  // namespace pptrain
