#include "base/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.hpp"
#include "base/screen.hpp"

namespace pptrain {

namespace {

constexpr std::size_t indent = 2;          // in front of a row
constexpr std::size_t gap = 2;             // between two columns
constexpr std::size_t narrowest = 8;       // to which a column is broken
constexpr std::size_t least_of_last = 24;  // characters in a line of the last cell, where it has so
                                           // many

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
  for (const std::string& line : lines_of(text)) width = std::max(width, num_characters(line));
  return width;
}

/// Widths of all columns; the last cell of a row counts in its column only where other rows go on
/// behind it.
std::vector<std::size_t> widths_of(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c + 1 < row.size(); ++c)
      widths[c] = std::max(widths[c], width_of(row[c]));
  }
  return widths;
}

/// Columns of the screen that a row needs, with as much of its last cell as has to be in a line.
std::size_t needed_columns(const std::vector<std::string>& row,
                           const std::vector<std::size_t>& widths) {
  std::size_t columns = indent;
  for (std::size_t c = 0; c + 1 < row.size(); ++c) columns += widths[c] + gap;
  return columns + std::min(least_of_last, width_of(row.back()));
}

/// By how many characters the table is too wide.
std::size_t excess_of(const Rows& rows) {
  const std::vector<std::size_t> widths = widths_of(rows);
  const std::size_t most = screen_columns();
  std::size_t excess = 0;
  for (const auto& row : rows) {
    if (row.empty()) continue;
    const std::size_t needed = needed_columns(row, widths);
    excess = std::max(excess, needed > most ? needed - most : 0);
  }
  return excess;
}

void remove_column(Rows& rows, std::size_t column) {
  for (auto& row : rows) {
    if (column < row.size()) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
}

/// Breaks the cells of the widest column; returns whether it became narrower.
bool break_widest(Rows& rows, std::size_t excess) {
  const std::vector<std::size_t> widths = widths_of(rows);
  if (widths.empty()) return false;
  const auto widest =
      static_cast<std::size_t>(std::max_element(widths.begin(), widths.end()) - widths.begin());
  const std::size_t width =
      widths[widest] > narrowest + excess ? widths[widest] - excess : narrowest;
  for (auto& row : rows) {
    if (widest + 1 < row.size()) row[widest] = wrapped(row[widest], width);
  }
  return widths_of(rows)[widest] < widths[widest];
}

/// Takes columns away and breaks cells until the table is no wider than the screen, as far as that
/// goes.
void fit(Rows& rows, std::vector<std::size_t> may_go) {
  while (excess_of(rows) > 0 && !may_go.empty()) {
    const std::size_t column = may_go.front();
    may_go.erase(may_go.begin());
    remove_column(rows, column);
    for (std::size_t& other : may_go) other -= other > column ? 1 : 0;
  }
  for (std::size_t excess = excess_of(rows); excess > 0; excess = excess_of(rows)) {
    if (!break_widest(rows, excess)) return;
  }
}

/// Lines of a cell that begins at column `column`, broken between words where they would pass the
/// screen.
std::vector<std::string> lines_within(const std::string& text, std::size_t column) {
  const std::size_t most = screen_columns();
  const bool has_room = column + narrowest < most;
  return lines_of(has_room ? wrapped(text, most - column) : text);
}

std::string without_spaces_at_end(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

/// A row, all its cells beginning on its first line.
std::string row_text(const std::vector<std::string>& row, const std::vector<std::size_t>& widths) {
  if (row.empty()) return "\n";
  std::vector<std::vector<std::string>> cells;
  std::size_t column = indent;
  for (std::size_t c = 0; c + 1 < row.size(); ++c) {
    cells.push_back(lines_of(row[c]));
    column += widths[c] + gap;
  }
  cells.push_back(lines_within(row.back(), column));
  std::size_t height = 1;
  for (const auto& lines : cells) height = std::max(height, lines.size());
  std::string text;
  for (std::size_t l = 0; l < height; ++l) {
    std::string line = "  ";
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string part = l < cells[c].size() ? cells[c][l] : "";
      line += part;
      if (c + 1 < cells.size()) line.append(widths[c] + gap - num_characters(part), ' ');
    }
    text += without_spaces_at_end(std::move(line));
  }
  return text;
}

/// Numbers `first`, `first + step`, ..., `last`.
struct Run {
  int first = 0;
  int last = 0;
  int step = 1;
  [[nodiscard]] int size() const { return (last - first) / step + 1; }
};

/// The longest run of equal gaps that begins at `numbers[begin]`; two that do not follow one
/// another make none.
Run run_from(const std::vector<int>& numbers, std::size_t begin) {
  Run run = {numbers[begin], numbers[begin], 1};
  if (begin + 1 == numbers.size()) return run;
  const int step = std::max(1, numbers[begin + 1] - numbers[begin]);
  std::size_t last = begin;
  while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + step) ++last;
  if (step == 1 || last - begin >= 2) run = {numbers[begin], numbers[last], step};
  return run;
}

std::string ordinal(int number) {
  const int ten = number % 10;
  const bool regular = number % 100 / 10 == 1 || ten == 0 || ten > 3;
  return fmt::format("{}{}", number, regular ? "th" : ten == 1 ? "st" : ten == 2 ? "nd" : "rd");
}

std::string text_of(const Run& run) {
  return run.first == run.last ? fmt::format("{}", run.first)
                               : fmt::format("{}-{}", run.first, run.last);
}

/// The end of the runs of following numbers from `first` on that are as long as it and as far
/// apart: "2-3, 6-7, 10-11".
std::size_t end_of_like(const std::vector<Run>& runs, std::size_t first) {
  const auto like = [&](const Run& run) {
    return run.step == 1 && run.size() == runs[first].size();
  };
  if (first + 1 == runs.size() || runs[first].size() == 1 || !like(runs[first])) return first + 1;
  const int apart = runs[first + 1].first - runs[first].first;
  std::size_t end = first + 1;
  while (end < runs.size() && like(runs[end]) && runs[end].first - runs[end - 1].first == apart)
    ++end;
  return end;
}

}  // namespace

std::string align(Rows rows, std::vector<std::size_t> may_go) {
  fit(rows, std::move(may_go));
  const std::vector<std::size_t> widths = widths_of(rows);
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
  std::vector<Run> runs;
  for (std::size_t i = 0; i < numbers.size(); i += static_cast<std::size_t>(runs.back().size())) {
    runs.push_back(run_from(numbers, i));
  }
  constexpr std::size_t few = 4;  // runs that are alike and are all named
  std::vector<std::string> parts;
  int step = 1;  // of the run before
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const Run& run = runs[r];
    const bool goes_on = run.step == step || run.size() == 1;
    parts.push_back((goes_on ? "" : fmt::format("every {} of ", ordinal(run.step))) + text_of(run));
    if (run.size() > 1 && run.step == 1 && step != 1) parts.back() = "all of " + text_of(run);
    if (run.size() > 1) step = run.step;
    const std::size_t end = end_of_like(runs, r);
    if (end - r <= few) continue;
    parts.push_back(text_of(runs[r + 1]));
    parts.emplace_back("...");
    r = end - 2;  // the last one follows
  }
  return join(parts);
}

}  // namespace pptrain
