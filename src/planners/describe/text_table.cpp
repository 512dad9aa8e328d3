#include "planners/describe/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.hpp"

namespace pptrain {

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines = {""};
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

std::size_t width_of(const std::string& text) {
  std::size_t width = 0;
  for (const std::string& line : lines_of(text)) width = std::max(width, line.size());
  return width;
}

/// Lines of a cell that begins at column `column`, broken between words where they would pass the screen.
std::vector<std::string> lines_within(const std::string& text, std::size_t column) {
  constexpr std::size_t least = 24;  // characters in a line, or they are left to the screen
  const bool fits = column + least > screen_columns || column + text.size() <= screen_columns;
  return lines_of(fits ? text : wrapped(text, screen_columns - column));
}

std::string without_spaces_at_end(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

/// A row, all its cells beginning on its first line.
std::string row_text(const std::vector<std::string>& row, const std::vector<std::size_t>& widths) {
  std::vector<std::vector<std::string>> cells;
  std::size_t column = 2;
  for (std::size_t c = 0; c + 1 < row.size(); ++c) {
    cells.push_back(lines_of(row[c]));
    column += widths[c] + 2;
  }
  cells.push_back(lines_within(row.back(), column));
  std::size_t height = 1;
  for (const auto& lines : cells) height = std::max(height, lines.size());
  std::string text;
  for (std::size_t l = 0; l < height; ++l) {
    std::string line = "  ";
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string part = l < cells[c].size() ? cells[c][l] : "";
      line += c + 1 < cells.size() ? fmt::format("{:<{}}  ", part, widths[c]) : part;
    }
    text += without_spaces_at_end(std::move(line));
  }
  return text;
}

}  // namespace

std::string align(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c + 1 < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  std::string text;
  for (const auto& row : rows) text += row_text(row, widths);
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
