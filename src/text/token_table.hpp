#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace pptrain {

/// For maps that are asked by parts of texts.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

/// Tokens by their text and by their number.
class TokenTable {
 public:
  using Ids = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;

  TokenTable() = default;
  TokenTable(TokenTable&&) = default;
  TokenTable& operator=(TokenTable&&) = default;

  /// Adds a token; false, and nothing is added, where the text or the number has another.
  bool add(const std::string& text, std::uint32_t id);
  /// Number of the token with this text; nothing where no token has it.
  std::optional<std::uint32_t> id(std::string_view text) const;
  /// The text of a token; null where there is none of the number.
  const std::string* text(std::uint32_t id) const;
  /// Calls `use(text, id)` for every token, in any order.
  template <class Use>
  void for_each(const Use& use) const {
    for (const auto& [text, id] : ids_) use(text, id);
  }
  std::size_t size() const { return ids_.size(); }
  /// The number of each text.
  const Ids& ids() const { return ids_; }
  /// One more than the largest number; 0 without tokens.
  std::int64_t limit() const { return limit_; }

 private:
  Ids ids_;
  std::unordered_map<std::uint32_t, const std::string*> texts_;  // the keys of `ids_`, which stay
                                                                 // where they are
  std::int64_t limit_ = 0;
};

}  // namespace pptrain
