#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace pptrain {

/// The longest text that is looked for in texts, in bytes. From each of its characters on a text
/// may be compared with so many, so that the limit is one of time; it is what 512 characters take,
/// SentencePiece's own limit of a piece.
inline constexpr std::size_t longest_searched_token = 2048;

/// Texts byte by byte, to find those that another text begins with.
class TokenTrie {
 public:
  static constexpr std::uint32_t root = 0;

  /// Adds a text that is not empty. Of two equal texts the first counts.
  void add(std::string_view text, std::uint32_t token);
  /// The node behind another one and a byte; nothing where no text goes on so.
  std::optional<std::uint32_t> next(std::uint32_t node, char byte) const {
    if (node == root) return first_[static_cast<unsigned char>(byte)];
    const auto found = next_.find(edge(node, byte));
    return found == next_.end() ? std::nullopt : std::optional(found->second);
  }
  /// The token whose text ends at a node.
  std::optional<std::uint32_t> token(std::uint32_t node) const { return tokens_[node]; }

 private:
  static std::uint64_t edge(std::uint32_t node, char byte) {
    return (std::uint64_t{node} << 8U) | static_cast<unsigned char>(byte);
  }

  std::array<std::optional<std::uint32_t>, 256> first_;  // nodes behind the root, which is asked
                                                         // most
  std::unordered_map<std::uint64_t, std::uint32_t> next_;
  std::vector<std::optional<std::uint32_t>> tokens_ = {std::nullopt};  // by node
};

}  // namespace pptrain
