#include "text/bpe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/error.hpp"
#include "text/byte_alphabet.hpp"
#include "text/utf8.hpp"

namespace pptrain {
namespace {

constexpr std::uint32_t nowhere = ~std::uint32_t{0};
constexpr std::uint32_t merged_away = nowhere;

constexpr std::size_t longest_known_word = 64;               // words that come again are short
constexpr std::size_t most_known_words = 1U << 18U;          // some 40 MB
constexpr std::size_t longest_part = std::size_t{1} << 31U;  // positions have 32 bits

std::string fallback_name(unsigned byte) { return fmt::format("<0x{:02X}>", byte); }

std::string name_of_byte(unsigned byte) {
  std::string name;
  append_utf8(name, character_of_byte(static_cast<unsigned char>(byte)));
  return name;
}

}  // namespace

const std::vector<std::uint32_t>* BpeScratch::known(std::string_view word) const {
  if (word.size() > longest_known_word) return nullptr;
  const auto found = words_.find(word);
  return found == words_.end() ? nullptr : &found->second;
}

void BpeScratch::remember(std::string_view word, std::vector<std::uint32_t> tokens) {
  if (word.size() > longest_known_word) return;
  if (words_.size() >= most_known_words) words_.clear();
  words_.emplace(word, std::move(tokens));
}

BpeModel::BpeModel(TokenTable tokens, const std::vector<ListedMerge>& merges,
                   const BpeOptions& options)
    : tokens_(std::move(tokens)), options_(options), merges_(merges.size()) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (options_.bytes) byte_symbols_[byte] = tokens_.id(name_of_byte(byte));
    if (!options_.bytes && options_.byte_fallback)
      byte_symbols_[byte] = tokens_.id(fallback_name(byte));
  }
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const ListedMerge& merge = merges[rank];
    merges_.set(merge.left, merge.right, {static_cast<std::uint32_t>(rank), merge.result});
    joins_.add(*tokens_.text(merge.left), *tokens_.text(merge.right));
    // The texts of such tokens are not the characters that they stand for.
    const auto is_other = [&](std::uint32_t token) {
      const bool stands_in =
          !options_.bytes && std::find(byte_symbols_.begin(), byte_symbols_.end(),
                                       std::optional(token)) != byte_symbols_.end();
      return stands_in || options_.unknown == token;
    };
    if (is_other(merge.left) || is_other(merge.right)) divisible_ = false;
  }
}

std::optional<std::uint32_t> BpeModel::whole_word(std::string_view word) const {
  if (!options_.bytes) return tokens_.id(word);
  std::string name;
  for (const char c : word) append_utf8(name, character_of_byte(static_cast<unsigned char>(c)));
  return tokens_.id(name);
}

std::optional<std::uint32_t> BpeModel::symbol(std::string_view character) const {
  return options_.bytes ? byte_symbols_[static_cast<unsigned char>(character[0])]
                        : tokens_.id(character);
}

bool BpeModel::append_fallback(std::string_view character, std::vector<std::uint32_t>& out) const {
  const auto has_token = [&](char c) {
    return byte_symbols_[static_cast<unsigned char>(c)].has_value();
  };
  if (!options_.byte_fallback || !std::all_of(character.begin(), character.end(), has_token))
    return false;
  for (const char c : character) out.push_back(*byte_symbols_[static_cast<unsigned char>(c)]);
  return true;
}

void BpeModel::append_symbols(std::string_view word, std::vector<std::uint32_t>& out) const {
  bool unknown_waits = false;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t size = options_.bytes ? 1 : code_point_at(word, at).size;
    const std::string_view character = word.substr(at, size);
    at += size;
    if (const std::optional<std::uint32_t> token = symbol(character)) {
      if (unknown_waits) out.push_back(*options_.unknown);
      unknown_waits = false;
      out.push_back(*token);
    } else if (options_.bytes || !append_fallback(character, out)) {
      // The token of unknown characters comes behind the bytes of those that follow, as in Hugging
      // Face's library.
      if (unknown_waits && !options_.fuse_unknown) out.push_back(*options_.unknown);
      unknown_waits = options_.unknown.has_value();
    }
  }
  if (unknown_waits) out.push_back(*options_.unknown);
}

std::size_t BpeModel::end_of_part(std::string_view word, std::size_t begin) const {
  const auto at = [&](std::size_t place) {
    return options_.bytes ? CodePoint{character_of_byte(static_cast<unsigned char>(word[place])), 1}
                          : code_point_at(word, place);
  };
  CodePoint left = at(begin);
  for (std::size_t end = begin + left.size; end < word.size();) {
    const CodePoint right = at(end);
    // A character without token may be fused with one before it, or be left out between two that
    // join.
    if (symbol(word.substr(end, right.size))) {
      if (!joins_.joins(left.value, right.value)) return end;
      left = right;
    }
    end += right.size;
  }
  return word.size();
}

void BpeModel::append(std::string_view word, BpeScratch& scratch,
                      std::vector<std::uint32_t>& out) const {
  if (const std::vector<std::uint32_t>* known = scratch.known(word)) {
    out.insert(out.end(), known->begin(), known->end());
    return;
  }
  const std::size_t start = out.size();
  if (const std::optional<std::uint32_t> whole =
          options_.ignore_merges ? whole_word(word) : std::nullopt) {
    out.push_back(*whole);
  } else if (divisible_ && word.size() > longest_known_word) {
    append_parts(word, scratch, out);
  } else {
    append_part(word, scratch, out);
  }
  scratch.remember(word, {out.begin() + static_cast<std::ptrdiff_t>(start), out.end()});
}

/// A long word, as a whole text is where nothing cuts it, in the parts that merges cannot join:
/// most come again.
void BpeModel::append_parts(std::string_view word, BpeScratch& scratch,
                            std::vector<std::uint32_t>& out) const {
  for (std::size_t begin = 0; begin < word.size();) {
    const std::size_t end = end_of_part(word, begin);
    const std::string_view part = word.substr(begin, end - begin);
    begin = end;
    if (options_.ignore_merges) {  // what is remembered of whole words may be another token
      append_part(part, scratch, out);
    } else if (const std::vector<std::uint32_t>* known = scratch.known(part)) {
      out.insert(out.end(), known->begin(), known->end());
    } else {
      const auto start = static_cast<std::ptrdiff_t>(out.size());
      append_part(part, scratch, out);
      scratch.remember(part, {out.begin() + start, out.end()});
    }
  }
}

void BpeModel::append_part(std::string_view part, BpeScratch& scratch,
                           std::vector<std::uint32_t>& out) const {
  PPTRAIN_ASSERT(part.size() < longest_part, "a word of {} bytes", part.size());
  scratch.symbols_.clear();
  append_symbols(part, scratch.symbols_);
  merge(scratch);
  for (const std::uint32_t symbol : scratch.symbols_)
    if (symbol != merged_away) out.push_back(symbol);
}

void BpeModel::wait_for(std::uint32_t position, BpeScratch& scratch) const {
  const std::uint32_t behind = scratch.next_[position];
  if (behind == nowhere) return;
  const Merge* merge = merges_.find(scratch.symbols_[position], scratch.symbols_[behind]);
  if (merge == nullptr) return;
  scratch.waiting_.push_back({(std::uint64_t{merge->rank} << 32U) | position, merge->result});
  std::push_heap(scratch.waiting_.begin(), scratch.waiting_.end(), std::greater<>());
}

void BpeModel::merge_next(BpeScratch& scratch) const {
  std::vector<std::uint32_t>& symbols = scratch.symbols_;
  std::pop_heap(scratch.waiting_.begin(), scratch.waiting_.end(), std::greater<>());
  const BpeScratch::Waiting top = scratch.waiting_.back();
  scratch.waiting_.pop_back();
  const auto position = static_cast<std::uint32_t>(top.order);
  const std::uint32_t right = symbols[position] == merged_away ? nowhere : scratch.next_[position];
  if (right == nowhere) return;
  const Merge* merge = merges_.find(symbols[position], symbols[right]);
  if (merge == nullptr || merge->result != top.result) return;
  symbols[position] = merge->result;
  symbols[right] = merged_away;
  const std::uint32_t behind = scratch.next_[position] = scratch.next_[right];
  if (behind != nowhere) scratch.previous_[behind] = position;
  if (scratch.previous_[position] != nowhere) wait_for(scratch.previous_[position], scratch);
  wait_for(position, scratch);
}

void BpeModel::merge(BpeScratch& scratch) const {
  const auto size = static_cast<std::uint32_t>(scratch.symbols_.size());
  if (size < 2) return;
  scratch.next_.resize(size);
  scratch.previous_.resize(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    scratch.next_[i] = i + 1 < size ? i + 1 : nowhere;
    scratch.previous_[i] = i > 0 ? i - 1 : nowhere;
  }
  scratch.waiting_.clear();
  for (std::uint32_t i = 0; i + 1 < size; ++i) wait_for(i, scratch);
  while (!scratch.waiting_.empty()) merge_next(scratch);
}

}  // namespace pptrain
