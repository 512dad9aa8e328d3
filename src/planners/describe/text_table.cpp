#include "planners/describe/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.hpp"

namespace pptrain {

std::string align(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c + 1 < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    text += " ";
    for (std::size_t c = 0; c + 1 < row.size(); ++c) text += fmt::format(" {:<{}} ", row[c], widths[c]);
    text += " " + row.back() + "\n";
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
