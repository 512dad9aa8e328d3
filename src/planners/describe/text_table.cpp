#include "planners/describe/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.hpp"

namespace pptrain {

namespace {

/// The text from column `column` of a line on, broken between words where it would pass the screen; what follows stands
/// below.
std::string continued_below(const std::string& text, std::size_t column) {
  constexpr std::size_t least = 24;  // characters in a line, or they are left to the screen
  if (column + least > screen_columns || column + text.size() <= screen_columns) return text;
  std::string result;
  for (const char c : wrapped(text, screen_columns - column)) {
    result += c;
    if (c == '\n') result.append(column, ' ');
  }
  return result;
}

}  // namespace

std::string align(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c + 1 < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t c = 0; c + 1 < row.size(); ++c) line += fmt::format(" {:<{}} ", row[c], widths[c]);
    line += " ";
    line += continued_below(row.back(), line.size());
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string bar(double part, int width) {
  const int filled = std::clamp(static_cast<int>(std::lround(part * width)), 0, width);
  return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "]";
}

std::string ranges(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    parts.push_back(i == last ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]));
    i = last + 1;
  }
  return join(parts);
}

}  // namespace pptrain
