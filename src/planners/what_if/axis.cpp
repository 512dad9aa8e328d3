#include "planners/what_if/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.hpp"
#include "base/names.hpp"

namespace pptrain {
namespace {

constexpr int most_nodes = 1000000;
constexpr std::size_t most_points = 100000;

std::string without_outer_spaces(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::optional<int> count_of(const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  const bool is_count =
      read.ec == std::errc() && read.ptr == end && value >= 0 && value <= most_nodes;
  return is_count ? std::optional(value) : std::nullopt;
}

[[noreturn]] void refuse_count(const std::string& text, const std::string& place) {
  throw_bad_input({place, fmt::format("\"{}\" is no number of nodes", shown(text)),
                   fmt::format("it is no whole number from 0 to {}", most_nodes),
                   "write for instance --nodes dgx-h100=1..8 or --nodes dgx-h100=1,2,4"});
}

}  // namespace

double value_number(const std::string& value) {
  double number = 0.0;
  const char* end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? number
                                                   : std::numeric_limits<double>::quiet_NaN();
}

bool SweepAxis::is_numeric() const {
  return std::none_of(values.begin(), values.end(),
                      [](const auto& value) { return std::isnan(value_number(value)); });
}

std::vector<std::string> listed_values(const std::string& text, const std::string& place) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = '\0';
  for (const char c : text) {
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      values.emplace_back();
      continue;
    }
    values.back() += c;
  }
  for (std::string& value : values) {
    value = without_outer_spaces(value);
    if (!value.empty()) continue;
    throw_bad_input({place, fmt::format("\"{}\" has an empty value", shown(text)),
                     "commas stand between values", "remove a comma"});
  }
  return values;
}

std::vector<std::string> node_counts(const std::string& text, const std::string& place) {
  std::vector<std::string> counts;
  for (const std::string& value : listed_values(text, place)) {
    const std::size_t dots = value.find("..");
    const std::optional<int> first = count_of(value.substr(0, dots));
    const std::optional<int> last =
        dots == std::string::npos ? first : count_of(value.substr(dots + 2));
    if (!first || !last || *last < *first) refuse_count(value, place);
    if (*last - *first > static_cast<int>(most_points)) refuse_count(value, place);
    for (int n = *first; n <= *last; ++n) counts.push_back(std::to_string(n));
  }
  return counts;
}

KeyValues key_values(const std::string& text, const std::string& option,
                     const std::string& example) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0 && equals + 1 < text.size()) {
    return {without_outer_spaces(text.substr(0, equals)), text.substr(equals + 1)};
  }
  throw_bad_input({fmt::format("command line: {} {}", option, shown(text)), "it is no NAME=VALUES",
                   "", fmt::format("write for instance {} {}", option, example)});
}

std::vector<std::vector<std::string>> all_points(const std::vector<SweepAxis>& axes) {
  std::vector<std::vector<std::string>> points = {{}};
  for (const SweepAxis& axis : axes) {
    if (points.size() * axis.values.size() > most_points) {
      throw_bad_input({"command line", fmt::format("more than {} points", most_points),
                       "each of them is a search of seconds",
                       "vary fewer things, or give fewer values"});
    }
    std::vector<std::vector<std::string>> longer;
    for (const std::vector<std::string>& point : points) {
      for (const std::string& value : axis.values) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    }
    points = std::move(longer);
  }
  return points;
}

}  // namespace pptrain
