#include "text/unigram.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "text/utf8.hpp"

namespace pptrain {
namespace {

constexpr double unknown_penalty = 10.0;  // of an unknown character, below the least probable
                                          // token: SentencePiece's

}  // namespace

UnigramModel::UnigramModel(TokenTable tokens, UnigramOptions options)
    : tokens_(std::move(tokens)), options_(std::move(options)) {
  PPTRAIN_ASSERT(!options_.scores.empty(), "a unigram model without tokens");
  unknown_score_ =
      *std::min_element(options_.scores.begin(), options_.scores.end()) - unknown_penalty;
  for (std::uint32_t token = 0; token < options_.scores.size(); ++token) {
    if (const std::string& text = *tokens_.text(token); !text.empty()) trie_.add(text, token);
  }
}

void UnigramModel::visit(std::string_view word, std::size_t begin, std::vector<Step>& steps) const {
  const std::size_t character = code_point_at(word, begin).size;
  const auto reach = [&](std::size_t end, double score, std::uint32_t token) {
    Step& step = steps[end];
    const double candidate = score + steps[begin].score;
    if (!step.reached || candidate > step.score) step = {candidate, begin, token, true};
  };
  bool is_token = false;  // the character by itself
  std::optional<std::uint32_t> node = TokenTrie::root;
  for (std::size_t end = begin; end < word.size();) {
    node = trie_.next(*node, word[end]);
    if (!node) break;
    ++end;
    const std::optional<std::uint32_t> token = trie_.token(*node);
    if (!token) continue;
    reach(end, options_.scores[*token], *token);
    is_token = is_token || end == begin + character;
  }
  if (!is_token) reach(begin + character, unknown_score_, options_.unknown);
}

void UnigramModel::append(std::string_view word, std::vector<std::uint32_t>& out) const {
  std::vector<Step> steps(word.size() + 1);
  for (std::size_t begin = 0; begin < word.size(); begin += code_point_at(word, begin).size) {
    visit(word, begin, steps);
  }
  std::vector<std::size_t> ends;
  for (std::size_t end = word.size(); end > 0; end = steps[end].begin) ends.push_back(end);
  for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
    const std::size_t begin = steps[*end].begin;
    if (steps[*end].token != options_.unknown) {
      out.push_back(steps[*end].token);
      continue;
    }
    while (end + 1 != ends.rend() && steps[*(end + 1)].token == options_.unknown) ++end;
    append_unknown(word.substr(begin, *end - begin), out);
  }
}

/// The text of neighbours may be a token though none of them is.
void UnigramModel::append_unknown(std::string_view text, std::vector<std::uint32_t>& out) const {
  if (const std::optional<std::uint32_t> token = tokens_.id(text)) return out.push_back(*token);
  if (options_.byte_fallback) {
    std::vector<std::uint32_t> bytes;
    for (const char byte : text) {
      const auto token = tokens_.id(fmt::format("<0x{:02X}>", static_cast<unsigned char>(byte)));
      if (token) bytes.push_back(*token);
    }
    if (bytes.size() == text.size()) {
      out.insert(out.end(), bytes.begin(), bytes.end());
      return;
    }
  }
  out.push_back(options_.unknown);
}

}  // namespace pptrain
