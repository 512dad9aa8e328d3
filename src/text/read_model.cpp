#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/names.hpp"
#include "text/read_parts.hpp"
#include "text/token_trie.hpp"

namespace pptrain {
namespace {

void check_model_type(const TokenizerNode& node) {
  // Files of old, as GPT-2's, do not say what they are.
  const bool says = node.has("type");
  if (says && node.type() != "BPE") node.refuse_type("model", {"BPE", "WordPiece", "Unigram"});
  if (!says && !node.has("merges"))
    node.refuse("is no BPE model", "it has no merges", "use another tokenizer");
  node.allow_keys({"type", "dropout", "unk_token", "continuing_subword_prefix",
                   "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges", "vocab",
                   "merges"});
  if (node.has("dropout") && node.at("dropout").number() != 0.0)
    node.at("dropout").refuse("must be null", "tokens would change from time to time",
                              "set it to null in a copy");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (node.has(key) && !node.at(key).string().empty())
      node.at(key).refuse("must be empty", "marks inside of words are not known here",
                          "use another tokenizer");
  }
}

TokenTable read_vocabulary(const TokenizerNode& node) {
  if (!node.value().is_object() || node.value().empty())
    node.refuse("must be an object with a token at least", "", "take the file as it was published");
  TokenTable tokens;
  for (const auto& [text, number] : node.value().items()) {
    const std::uint32_t id = node.at(text).token();
    if (!tokens.add(text, id))
      node.refuse(fmt::format("token {} is there twice", id),
                  "decoding would not know which is meant", "take the file as it was published");
  }
  return tokens;
}

/// The two texts of a merge, `"a b"` or `["a", "b"]`.
std::pair<std::string, std::string> merge_texts(const TokenizerNode& node) {
  if (node.is_array() && node.value().size() == 2) {
    const std::vector<TokenizerNode> pair = node.elements();
    return {pair[0].string(), pair[1].string()};
  }
  const std::string text = node.is_string() ? node.string() : "";
  const std::size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
    node.refuse("is no merge",
                "two tokens with one space between them, or an array of two, are needed",
                "take the file as it was published");
  return {text.substr(0, space), text.substr(space + 1)};
}

std::uint32_t known_token(const TokenizerNode& node, const TokenTable& tokens,
                          const std::string& text) {
  const std::optional<std::uint32_t> id = tokens.id(text);
  if (!id)
    node.refuse(fmt::format("the token \"{}\" is not in the vocabulary", shown(text)), "",
                "take vocabulary and merges from one tokenizer");
  return *id;
}

std::vector<ListedMerge> read_merges(const TokenizerNode& node, const TokenTable& tokens) {
  std::vector<ListedMerge> merges;
  if (!node.is_array()) node.refuse("must be an array", "", "take the file as it was published");
  merges.reserve(node.value().size());
  for (const TokenizerNode& element : node.elements()) {
    const auto [left, right] = merge_texts(element);
    merges.push_back({known_token(element, tokens, left), known_token(element, tokens, right),
                      known_token(element, tokens, left + right)});
  }
  return merges;
}

/// Refuses the text of a token that is too long to be looked for at every place of a text.
void check_length(const TokenizerNode& node, const std::string& text) {
  if (text.size() <= longest_searched_token) return;
  node.refuse(fmt::format("a token has {} bytes", text.size()),
              fmt::format("{} are the most", longest_searched_token),
              "leave the token out, or use another tokenizer");
}

AddedToken read_added_token(const TokenizerNode& node) {
  node.allow_keys({"id", "content", "special", "single_word", "lstrip", "rstrip", "normalized"});
  AddedToken token;
  token.id = node.at("id").token();
  token.text = node.at("content").string();
  token.special = node.boolean_or("special", false);
  token.single_word = node.boolean_or("single_word", false);
  token.strip_left = node.boolean_or("lstrip", false);
  token.strip_right = node.boolean_or("rstrip", false);
  token.normalized = node.boolean_or("normalized", !token.special);
  check_length(node.at("content"), token.text);
  if (token.text.empty())
    node.at("content").refuse("is empty", "no text has it", "leave the token out");
  return token;
}

WordPieceModel read_word_piece(const TokenizerNode& node) {
  node.allow_keys(
      {"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
  TokenTable tokens = read_vocabulary(node.at("vocab"));
  tokens.for_each(
      [&](const std::string& text, std::uint32_t) { check_length(node.at("vocab"), text); });
  WordPieceOptions options;
  options.unknown = known_token(node.at("unk_token"), tokens, node.at("unk_token").string());
  if (node.has("continuing_subword_prefix"))
    options.inside_prefix = node.at("continuing_subword_prefix").string();
  if (node.has("max_input_chars_per_word"))
    options.longest_word = node.at("max_input_chars_per_word").count();
  return {std::move(tokens), std::move(options)};
}

/// A token and its score, `["▁the", -3.2]`.
std::pair<std::string, double> read_scored_token(const TokenizerNode& node) {
  if (!node.is_array() || node.value().size() != 2)
    node.refuse("is no token with its score", "an array of a text and a number is needed",
                "take the file as it was published");
  const std::vector<TokenizerNode> pair = node.elements();
  return {pair[0].string(), pair[1].number()};
}

UnigramModel read_unigram(const TokenizerNode& node) {
  node.allow_keys({"type", "unk_id", "vocab", "byte_fallback"});
  TokenTable tokens;
  UnigramOptions options;
  for (const TokenizerNode& element : node.at("vocab").elements()) {
    const auto [text, score] = read_scored_token(element);
    check_length(element, text);
    if (!tokens.add(text, static_cast<std::uint32_t>(options.scores.size())))
      element.refuse(fmt::format("the token \"{}\" is there twice", shown(text)), "",
                     "take the file as it was published");
    options.scores.push_back(score);
  }
  if (options.scores.empty())
    node.at("vocab").refuse("has no tokens", "there is nothing to cut text into",
                            "take the file as it was published");
  options.unknown = node.at("unk_id").token();
  if (options.unknown >= options.scores.size())
    node.at("unk_id").refuse("is the number of no token",
                             fmt::format("there are {}", options.scores.size()),
                             "take the file as it was published");
  options.byte_fallback = node.boolean_or("byte_fallback", false);
  return {std::move(tokens), std::move(options)};
}

BpeModel read_bpe(const TokenizerNode& node, bool bytes) {
  check_model_type(node);
  TokenTable tokens = read_vocabulary(node.at("vocab"));
  const std::vector<ListedMerge> merges = read_merges(node.at("merges"), tokens);
  BpeOptions options;
  options.bytes = bytes;
  if (node.has("unk_token"))
    options.unknown = known_token(node.at("unk_token"), tokens, node.at("unk_token").string());
  options.fuse_unknown = node.boolean_or("fuse_unk", false);
  options.byte_fallback = node.boolean_or("byte_fallback", false);
  options.ignore_merges = node.boolean_or("ignore_merges", false);
  if (bytes && options.byte_fallback)
    node.at("byte_fallback")
        .refuse("must be false behind ByteLevel", "each byte has a token already",
                "set it to false in a copy");
  return {std::move(tokens), merges, options};
}

}  // namespace

TokenModel read_model(const TokenizerNode& node, bool bytes) {
  const std::string type = node.has("type") ? node.type() : "BPE";
  if (type == "WordPiece" || type == "Unigram") {
    if (bytes)
      node.refuse(fmt::format("is {} behind ByteLevel", type), "words are characters there",
                  "take the file as it was published");
    if (type == "WordPiece") return read_word_piece(node);
    return read_unigram(node);
  }
  return read_bpe(node, bytes);
}

std::vector<AddedToken> read_added_tokens(const TokenizerNode& node, const TokenTable& tokens) {
  std::vector<AddedToken> added;
  std::set<std::string> texts;
  auto next = static_cast<std::uint32_t>(tokens.size());  // of a text that the vocabulary does not
                                                          // have
  for (const TokenizerNode& element : node.elements()) {
    const AddedToken token = read_added_token(element);
    if (!texts.insert(token.text).second)
      element.at("content").refuse("is there twice", "", "leave one of the tokens out");
    const std::optional<std::uint32_t> in_vocabulary = tokens.id(token.text);
    const std::uint32_t expected = in_vocabulary.value_or(next);
    if (token.id != expected)
      element.at("id").refuse(
          fmt::format("is not {}", expected), "Hugging Face's library would give it that number",
          "list the added tokens by their numbers, without gaps behind the vocabulary");
    if (!in_vocabulary && tokens.text(token.id) != nullptr)
      element.at("id").refuse("is the number of a token of the vocabulary",
                              "two texts would be one token", "give it a number of its own");
    next = std::max(next, token.id >= tokens.size() ? token.id + 1 : next);
    added.push_back(token);
  }
  return added;
}

}  // namespace pptrain
