#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pptrain {

/// Bytes [begin, end) of a text.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// What a thread needs to search for patterns. Threads have one each.
class MatchMemory {
 public:
  MatchMemory();
  ~MatchMemory();
  MatchMemory(const MatchMemory&) = delete;
  MatchMemory& operator=(const MatchMemory&) = delete;

 private:
  friend class Pattern;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// A pattern to search text for, by PCRE2. Threads may share one.
class Pattern {
 public:
  /// A regular expression as tokenizer.json has it, in Oniguruma's language (oniguruma.hpp). What
  /// PCRE2 does not take throws `Error` (exit code 2) with `where` as the place.
  static Pattern regex(std::string_view expression, const std::string& where);
  /// The text itself, which is not empty.
  static Pattern literal(std::string_view text, const std::string& where);

  /// The leftmost match that begins at byte `from` or behind it; an empty one counts. The text is
  /// UTF-8 and `from` begins a character. A pattern that takes too many steps on this text throws
  /// `Error` (exit code 2).
  std::optional<TextRange> find(std::string_view text, std::size_t from, MatchMemory& memory) const;

 private:
  struct Compiled;
  Pattern(std::string_view expression, unsigned options, const std::string& where);

  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace pptrain
