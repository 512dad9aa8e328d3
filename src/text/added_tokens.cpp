#include "text/added_tokens.hpp"

#include <algorithm>

#include "text/utf8.hpp"

namespace pptrain {
namespace {

/// Where the white space before `end` begins, or `least`, if that is behind.
std::size_t begin_of_space_before(std::string_view text, std::size_t end, std::size_t least) {
  while (end > least) {
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
  trie_.add(text, static_cast<std::uint32_t>(tokens_.size()));
  tokens_.push_back(token);
}

std::optional<AddedTokenFinder::Found> AddedTokenFinder::find(std::string_view text,
                                                              std::size_t from) const {
  if (tokens_.empty()) return std::nullopt;
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    std::optional<Found> found;
    std::optional<std::uint32_t> node = TokenTrie::root;
    for (std::size_t at = begin; at < text.size(); ++at) {
      node = trie_.next(*node, text[at]);
      if (!node) break;
      if (const std::optional<std::uint32_t> token = trie_.token(*node))
        found = Found{{begin, at + 1}, *token};
    }
    if (found) return found;
  }
  return std::nullopt;
}

bool AddedTokenFinder::is_word(std::string_view text, const TextRange& range,
                               MatchMemory& memory) const {
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
    // White space up to `done` went with the token before: looking at it again would take a time
    // that is quadratic.
    if (token.strip_left)
      range.begin = std::max(begin_of_space_before(text, range.begin, done), done);
    if (token.strip_right) range.end = end_of_space_behind(text, std::max(range.end, done));
    if (done < range.begin) parts.push_back({{done, range.begin}});
    parts.push_back({range, token.id});
    done = range.end;
  }
  if (done < text.size()) parts.push_back({{done, text.size()}});
  return parts;
}

}  // namespace pptrain
