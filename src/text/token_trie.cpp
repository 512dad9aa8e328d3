#include "text/token_trie.hpp"

namespace pptrain {

void TokenTrie::add(std::string_view text, std::uint32_t token) {
  std::uint32_t node = root;
  for (const char byte : text) {
    const auto made = static_cast<std::uint32_t>(tokens_.size());
    std::uint32_t behind = made;
    if (node == root) {
      std::optional<std::uint32_t>& first = first_[static_cast<unsigned char>(byte)];
      behind = first.value_or(made);
      first = behind;
    } else {
      behind = next_.try_emplace(edge(node, byte), made).first->second;
    }
    if (behind == made) tokens_.emplace_back();
    node = behind;
  }
  if (!tokens_[node]) tokens_[node] = token;
}

}  // namespace pptrain
