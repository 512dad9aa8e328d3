#include "config/toml_levels.hpp"

#include <algorithm>
#include <string>

namespace pptrain {
namespace {

/// Comes through a text as far as levels are concerned: strings and comments are left out, values
/// are not told from keys (a number has one dot).
class LevelScanner {
 public:
  explicit LevelScanner(std::string_view text) : text_(text) {}

  std::optional<std::int64_t> line_beyond() {
    while (at_ < text_.size()) {
      step();
      if (dots_ >= most_toml_levels || open_ > most_toml_levels) return line();
    }
    return std::nullopt;
  }

 private:
  std::int64_t line() const {
    return 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
  }

  void step() {
    const char c = text_[at_];
    if (c == '"' || c == '\'') return skip_string(c);
    if (c == '#') return skip_comment();
    ++at_;
    switch (c) {
      case '.': ++dots_; break;
      case ' ':
      case '\t': break;  // beside a dot it changes nothing
      case '[':
      case '{': ++open_; break;
      case ']':
      case '}': open_ -= open_ > 0 ? 1 : 0; break;
      default: break;
    }
    constexpr std::string_view ends_name = "\n=,:[]{}";
    if (ends_name.find(c) != std::string_view::npos) dots_ = 0;
  }

  void skip_comment() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  void skip_string(char quote) {
    const bool lines = text_.substr(at_, 3) == std::string(3, quote);
    at_ += lines ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\\' && quote == '"') {
        ++at_;
      } else if (!lines && (c == quote || c == '\n')) {
        at_ += c == quote ? 1 : 0;
        return;
      } else if (lines && text_.substr(at_, 3) == std::string(3, quote)) {
        at_ += 3;
        for (int i = 0; i < 2 && at_ < text_.size() && text_[at_] == quote; ++i)
          ++at_;  // the text's own last ones
        return;
      }
    }
    at_ = std::min(at_, text_.size());
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t dots_ = 0;  // in the name at hand
  std::size_t open_ = 0;
};

}  // namespace

std::optional<std::int64_t> find_toml_beyond(std::string_view text) {
  return LevelScanner(text).line_beyond();
}

}  // namespace pptrain
