#include "base/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

namespace pptrain {
namespace {

/// Levenshtein distance: insertions, deletions and substitutions.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitution});
    }
  }
  return row.back();
}

/// Whether a byte continues a character of UTF-8.
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// Bytes of the character that begins at `text`; 0 where that is no character of UTF-8 that a
/// terminal can show.
std::size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return first == '\n' || (first >= 0x20 && first != 0x7f) ? 1 : 0;
  const std::size_t bytes = first >= 0xF8   ? 0
                            : first >= 0xF0 ? 4
                            : first >= 0xE0 ? 3
                            : first >= 0xC2 ? 2
                                            : 0;
  if (bytes == 0 || text.size() < bytes) return 0;
  return std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(bytes),
                     continues_character)
             ? bytes
             : 0;
}

std::string without_controls(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    plain += bytes > 0 ? std::string(text.substr(0, bytes))
                       : fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    text.remove_prefix(std::max<std::size_t>(1, bytes));
  }
  return plain;
}

/// The byte at which character `number` of UTF-8 begins; the size of a text that has no such
/// character.
std::size_t place_of_character(std::string_view text, std::size_t number) {
  std::size_t place = 0;
  for (std::size_t begun = 0; place < text.size(); ++place) {
    if (!continues_character(text[place]) && begun++ == number) break;
  }
  return place;
}

std::string wrapped_line(const std::string& line, std::size_t width) {
  if (num_characters(line) <= width) return line;
  std::istringstream words(line);
  std::string text;
  std::size_t column = 0;
  for (std::string word; words >> word;) {
    const std::size_t size = num_characters(word);
    const bool fits = column + 1 + size <= width;
    if (column > 0) text += fits ? ' ' : '\n';
    column = column > 0 && fits ? column + 1 + size : size;
    text += word;
  }
  return text;
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest_name = 200;  // beyond it nothing is near, and a distance takes long
  if (name.size() > longest_name) return "";
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates,
                         const std::string& otherwise) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? otherwise : fmt::format("did you mean \"{}\"?", nearest);
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos)
    return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shown(std::string_view text) {
  constexpr std::size_t most_bytes = 600;  // some lines of a screen
  constexpr std::size_t most_at_end = 150;
  if (text.size() <= most_bytes) return without_controls(text);
  std::size_t first = most_bytes - most_at_end;
  while (first > 0 && continues_character(text[first])) --first;
  std::size_t last = text.size() - most_at_end;
  while (last < text.size() && continues_character(text[last])) ++last;
  return without_controls(text.substr(0, first)) +
         fmt::format(" [{} bytes left out] ", last - first) + without_controls(text.substr(last));
}

std::size_t num_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

std::string wrapped(const std::string& text, std::size_t width) {
  std::istringstream lines(text);
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(wrapped_line(line, width));
  return join(all, "\n");
}

std::string wrapped(const std::string& text, std::size_t width, const std::string& indent) {
  std::istringstream lines(text);
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) {
    std::string before;
    for (std::size_t room = width; num_characters(line) > room;) {
      const std::size_t first = line.find_first_not_of(' ');
      const std::size_t end = place_of_character(line, room);
      std::size_t at = line.rfind(' ', end);
      if (at == std::string::npos || at < first)
        at = line.find(' ', std::max(end, first));  // a word is not cut
      if (at == std::string::npos) break;
      all.push_back(before + line.substr(0, line.find_last_not_of(' ', at) + 1));
      line.erase(0, std::min(line.find_first_not_of(' ', at), line.size()));
      before = indent;
      room = width - num_characters(indent);
    }
    all.push_back(before + line);
  }
  return join(all, "\n");
}

}  // namespace pptrain
