#include "text/added_tokens.hpp"

#include <algorithm>

#include "text/utf8.hpp"

namespace pptrain {
namespace {

std::size_t begin_of_space_before(std::string_view text, std::size_t end) {
  while (end > 0) {
    const CodePoint character = code_point_before(text, end);
    if (!is_white_space(character.value)) break;
    end -= character.size;
  }
  return end;
}

std::size_t end_of_space_behind(std::string_view text, std::size_t begin) {
  while (begin < text.size()) {
    const CodePoint character = code_point_at(text, begin);
    if (!is_white_space(character.value)) break;
    begin += character.size;
  }
  return begin;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder()
    : word_(Pattern::regex(R"([\w\u200C\u200D])", "pptrain")) {}  // with the joiners, as Rust's \w

void AddedTokenFinder::add(const AddedToken& token, std::string_view text) {
  if (text.empty()) return;
  std::size_t node = 0;
  for (const char c : text) {
    const auto [next, is_new] = nodes_[node].next.try_emplace(c, nodes_.size());
    node = next->second;
    if (is_new) nodes_.emplace_back();
  }
  if (nodes_[node].token) return;
  nodes_[node].token = tokens_.size();
  tokens_.push_back(token);
}

std::optional<AddedTokenFinder::Found> AddedTokenFinder::find(std::string_view text, std::size_t from) const {
  if (tokens_.empty()) return std::nullopt;
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    std::optional<Found> found;
    std::size_t node = 0;
    for (std::size_t at = begin; at < text.size(); ++at) {
      const auto next = nodes_[node].next.find(text[at]);
      if (next == nodes_[node].next.end()) break;
      node = next->second;
      if (nodes_[node].token) found = Found{{begin, at + 1}, *nodes_[node].token};
    }
    if (found) return found;
  }
  return std::nullopt;
}

bool AddedTokenFinder::is_word(std::string_view text, const TextRange& range, MatchMemory& memory) const {
  const auto in_word = [&](std::size_t begin, std::size_t size) {
    return word_.find(text.substr(begin, size), 0, memory).has_value();
  };
  if (range.begin > 0) {
    const std::size_t size = code_point_before(text, range.begin).size;
    if (in_word(range.begin - size, size)) return false;
  }
  return range.end == text.size() || !in_word(range.end, code_point_at(text, range.end).size);
}

std::vector<AddedMatch> AddedTokenFinder::parts(std::string_view text, MatchMemory& memory) const {
  std::vector<AddedMatch> parts;
  std::size_t done = 0;
  std::size_t from = 0;
  while (const std::optional<Found> found = find(text, from)) {
    const AddedToken& token = tokens_[found->token];
    TextRange range = found->range;
    from = range.end;
    if (token.single_word && !is_word(text, range, memory)) continue;
    if (token.strip_left) range.begin = std::max(begin_of_space_before(text, range.begin), done);
    if (token.strip_right) range.end = end_of_space_behind(text, range.end);
    if (done < range.begin) parts.push_back({{done, range.begin}});
    parts.push_back({range, token.id});
    done = range.end;
  }
  if (done < text.size()) parts.push_back({{done, text.size()}});
  return parts;
}

}  // namespace pptrain
