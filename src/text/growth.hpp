#pragma once

#include <cstddef>
#include <string>

namespace pptrain {

/// How many steps that change or cut texts a tokenizer may have; a published one has some ten.
inline constexpr std::size_t most_tokenizer_steps = 256;

/// What a step of a tokenizer may make of a text. Steps that each double it would soon fill the
/// memory, whereas those of published tokenizers make a character at most eleven times as long
/// (NFKC of U+FDFA) and put a mark in front.
class GrowthLimit {
 public:
  /// `before`: bytes of the text before all steps; `where`: the step's place in its file, which
  /// outlives the limit.
  GrowthLimit(std::size_t before, const std::string& where) : before_(before), where_(where) {}

  /// Throws `Error` (exit code 2) where a text has grown to more than `bytes` may be.
  void check(std::size_t bytes) const {
    if (bytes > least + most_times * before_) refuse();
  }

 private:
  static constexpr std::size_t most_times = 16;
  static constexpr std::size_t least = 4096;  // of short texts, in bytes

  [[noreturn]] void refuse() const;

  std::size_t before_;
  const std::string& where_;
};

}  // namespace pptrain
