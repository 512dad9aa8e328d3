#include "text/oniguruma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.hpp"

namespace pptrain {
namespace {

constexpr std::string_view word_set = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";

bool is_hexadecimal(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Reads the expression from left to right and writes what PCRE2 is to read.
class OnigurumaReader {
 public:
  OnigurumaReader(std::string_view expression, const std::string& where)
      : in_(expression), where_(where) {}

  std::string translated() {
    while (at_ < in_.size()) read_outside();
    if (in_set_) refuse("a set that does not end", "a \"]\" is missing");
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& reason) const {
    throw_bad_input({where_, fmt::format("the pattern has {} at character {}", what, at_ + 1),
                     reason,
                     "write the pattern in another way; patterns of GPT-2, Llama 3 and Qwen 2 are "
                     "known to work"});
  }

  bool ahead(std::string_view text) const { return in_.substr(at_, text.size()) == text; }
  char next() const { return at_ + 1 < in_.size() ? in_[at_ + 1] : '\0'; }

  void take(std::size_t count) {
    out_ += in_.substr(at_, count);
    at_ += count;
  }
  void replace(std::size_t count, std::string_view by) {
    out_ += by;
    at_ += count;
  }

  void read_outside() {
    switch (in_[at_]) {
      case '\\': read_escape(); break;
      case '[': read_set(); break;
      case '(': read_group(); break;
      case '{': read_brace(); break;
      default: take(1);
    }
  }

  void read_group() {
    if (next() == '*') refuse("\"(*\"", "it is a command to PCRE2");
    if (next() != '?') return take(1);
    static constexpr std::array<std::string_view, 7> known = {
        "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:"};
    for (const std::string_view group : known)
      if (ahead(group)) return take(group.size());
    // Elsewhere an option takes in the alternatives that follow in Oniguruma and leaves them out in
    // PCRE2.
    if (ahead("(?i)") && at_ == 0) return take(4);
    refuse(fmt::format("a group \"{}\"", in_.substr(at_, 3)), "its meaning depends on the library");
  }

  /// An interval as `{1,3}`, or the character.
  void read_brace() {
    std::size_t end = at_ + 1;
    while (end < in_.size() && (is_digit(in_[end]) || in_[end] == ',')) ++end;
    const std::string_view inside = in_.substr(at_ + 1, end - at_ - 1);
    if (end == in_.size() || in_[end] != '}' || inside.empty()) return replace(1, R"(\{)");
    if (!is_digit(inside.front()) || std::count(inside.begin(), inside.end(), ',') > 1)
      refuse("an interval without a beginning", "its meaning depends on the library");
    const char behind = end + 1 < in_.size() ? in_[end + 1] : '\0';
    if (behind == '+' || behind == '*' || behind == '{' ||
        (behind == '?' && inside.find(',') == std::string_view::npos))
      refuse("a repeated interval",
             "it means another repetition to Oniguruma, and no going back to PCRE2");
    take(end + 1 - at_);
  }

  void read_set() {
    in_set_ = true;
    take(1);
    if (at_ < in_.size() && in_[at_] == '^') take(1);
    if (at_ < in_.size() && in_[at_] == ']')
      refuse("an empty set", "its meaning depends on the library");
    while (at_ < in_.size() && in_set_) {
      if (in_[at_] == '[') refuse("a set inside of a set", "PCRE2 has no such sets");
      if (ahead("&&")) refuse("\"&&\"", "PCRE2 has no intersections of sets");
      if (in_[at_] == ']') in_set_ = false;
      if (in_[at_] == '\\') {
        read_escape();
      } else {
        take(1);
      }
    }
  }

  void read_escape() {
    const char c = next();
    switch (c) {
      case 's': return replace(2, R"(\p{White_Space})");
      case 'S': return replace(2, R"(\P{White_Space})");
      case 'd': return replace(2, R"(\p{Nd})");
      case 'D': return replace(2, R"(\P{Nd})");
      case 'w': return replace(2, in_set_ ? std::string(word_set) : fmt::format("[{}]", word_set));
      case 'W':
        if (in_set_) refuse("\"\\W\" inside of a set", "PCRE2 has no such sets");
        return replace(2, fmt::format("[^{}]", word_set));
      case 'v': return replace(2, R"(\x0b)");
      case 'r':
      case 'n':
      case 't':
      case 'f': return take(2);
      case 'p':
      case 'P': return read_property();
      case 'x':
      case 'u': return read_number();
      default: break;
    }
    if (c == '\0' || is_letter_or_digit(c) || static_cast<unsigned char>(c) >= 0x80)
      refuse(fmt::format("the escape \"\\{}\"", c == '\0' ? "" : std::string(1, c)),
             "it is not known here");
    take(2);
  }

  /// A property as `\p{L}`.
  void read_property() {
    const std::size_t end = in_.find('}', at_);
    if (at_ + 2 >= in_.size() || in_[at_ + 2] != '{' || end == std::string_view::npos)
      refuse("a property without braces", "its meaning depends on the library");
    const std::string_view name = in_.substr(at_ + 3, end - at_ - 3);
    const auto fits = [](char c) { return is_letter_or_digit(c) || c == '_' || c == '^'; };
    if (name.empty() || !std::all_of(name.begin(), name.end(), fits))
      refuse(fmt::format("the property \"{}\"", name), "it is not known here");
    take(end + 1 - at_);
  }

  /// A character by its number: `\x41`, `\x{1F600}`, `\u4E00`.
  void read_number() {
    const bool braces = at_ + 2 < in_.size() && in_[at_ + 2] == '{' && next() == 'x';
    const std::size_t begin = at_ + (braces ? 3 : 2);
    const std::size_t most = braces ? 6 : next() == 'u' ? 4 : 2;
    std::size_t end = begin;
    while (end < in_.size() && end < begin + most && is_hexadecimal(in_[end])) ++end;
    const std::string digits(in_.substr(begin, end - begin));
    const bool ends = !braces || (end < in_.size() && in_[end] == '}');
    const bool whole = braces ? !digits.empty() : digits.size() == most;
    if (!ends || !whole)
      refuse("a number of a character that does not end", "digits or \"}\" are missing");
    if (most == 2 && digits[0] >= '8')
      refuse("the byte \\x" + digits, "a part of a character is none to PCRE2");
    replace(end + (braces ? 1 : 0) - at_, fmt::format("\\x{{{}}}", digits));
  }

  std::string_view in_;
  const std::string& where_;
  std::string out_;
  std::size_t at_ = 0;
  bool in_set_ = false;
};

}  // namespace

std::string to_pcre2(std::string_view expression, const std::string& where) {
  return OnigurumaReader(expression, where).translated();
}

}  // namespace pptrain
