#include "text/token_table.hpp"

#include <algorithm>

namespace pptrain {

bool TokenTable::add(const std::string& text, std::uint32_t id) {
  if (texts_.contains(id)) return false;
  const auto [entry, is_new] = ids_.try_emplace(text, id);
  if (!is_new) return false;
  texts_.emplace(id, &entry->first);
  limit_ = std::max(limit_, std::int64_t{id} + 1);
  return true;
}

std::optional<std::uint32_t> TokenTable::id(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

const std::string* TokenTable::text(std::uint32_t id) const {
  const auto found = texts_.find(id);
  return found == texts_.end() ? nullptr : found->second;
}

}  // namespace pptrain
