#include <fmt/format.h>

#include "text/read_parts.hpp"

namespace pptrain {
namespace {

constexpr std::size_t most_template_tokens = 1024;  // that a post-processor puts in, which each
                                                    // document has then

DecodeMetaspace read_metaspace_decoder(const TokenizerNode& node) {
  node.allow_keys(
      {"type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"});
  const bool prepended = node.has("prepend_scheme") ? node.at("prepend_scheme").string() != "never"
                                                    : node.boolean_or("add_prefix_space", true);
  return {node.at("replacement").character(), prepended};
}

DecodeWordPiece read_word_piece_decoder(const TokenizerNode& node) {
  node.allow_keys({"type", "prefix", "cleanup"});
  return {node.has("prefix") ? node.at("prefix").string() : "##", node.boolean_or("cleanup", true)};
}

DecodeStrip read_strip(const TokenizerNode& node) {
  node.allow_keys({"type", "content", "start", "stop"});
  return {node.at("content").character(), node.at("start").count(), node.at("stop").count()};
}

ReplaceText read_replace(const TokenizerNode& node) {
  node.allow_keys({"type", "pattern", "content"});
  return {read_pattern(node.at("pattern")), node.at("content").string()};
}

/// Adds the tokens of a post-processor's special token, as `{"id": "<s>", "ids": [1], "tokens":
/// ["<s>"]}`.
void append_template_tokens(const TokenizerNode& specials, const std::string& name,
                            std::vector<std::uint32_t>& tokens) {
  const std::vector<TokenizerNode> ids = specials.at(name).at("ids").elements();
  if (tokens.size() + ids.size() > most_template_tokens)
    specials.refuse("put too many tokens in",
                    fmt::format("{} around a text are the most", most_template_tokens),
                    "take the file as it was published");
  for (const TokenizerNode& token : ids) tokens.push_back(token.token());
}

/// The pieces of `[CLS] $A [SEP] $B:1 [SEP]:1`; empty where the two texts are not there once each.
std::vector<PairPiece> read_pair_template(const TokenizerNode& node) {
  std::vector<PairPiece> pieces;
  std::size_t times[2] = {};
  std::vector<std::uint32_t> tokens;
  for (const TokenizerNode& element : node.at("pair").elements()) {
    const bool is_text = element.has("Sequence");
    const TokenizerNode piece = element.at(is_text ? "Sequence" : "SpecialToken");
    const std::string id = piece.at("id").string();
    const std::uint32_t type = piece.has("type_id") ? piece.at("type_id").token() : 0;
    if (!is_text) {
      const auto before = static_cast<std::ptrdiff_t>(tokens.size());
      append_template_tokens(node.at("special_tokens"), id, tokens);
      pieces.push_back({std::nullopt, {tokens.begin() + before, tokens.end()}, type});
      continue;
    }
    const std::size_t text = id == "B" ? 1 : 0;
    ++times[text];
    pieces.push_back({text, {}, type});
  }
  return times[0] == 1 && times[1] == 1 ? pieces : std::vector<PairPiece>();
}

void read_template(const TokenizerNode& node, TokenizerParts& parts) {
  node.allow_keys({"type", "single", "pair", "special_tokens"});
  bool behind = false;
  for (const TokenizerNode& element : node.at("single").elements()) {
    if (element.has("Sequence")) {
      const std::string id = element.at("Sequence").at("id").string();
      if (behind || id != "A")
        element.refuse("must be the one sequence A", "a single text has one place",
                       "take the file as it was published");
      behind = true;
      continue;
    }
    append_template_tokens(node.at("special_tokens"), element.at("SpecialToken").at("id").string(),
                           behind ? parts.suffix : parts.prefix);
  }
  if (!behind)
    node.at("single").refuse("has no place for the text", "", "take the file as it was published");
  parts.pair = node.has("pair") ? read_pair_template(node) : std::vector<PairPiece>();
}

/// A pair of a token's text and number, as `["</s>", 2]`.
std::uint32_t read_text_and_token(const TokenizerNode& node) {
  const std::vector<TokenizerNode> pair = node.elements();
  if (pair.size() != 2)
    node.refuse("must be a text and a number", "", "take the file as it was published");
  return pair[1].token();
}

}  // namespace

void read_decoder(const TokenizerNode& node, Decoder& decoder, int depth) {
  check_num_steps(node, decoder.num_steps());
  const std::string type = node.type();
  if (type == "ByteLevel") return decoder.add(DecodeByteLevel(), node.place());
  if (type == "ByteFallback") return decoder.add(DecodeByteFallback(), node.place());
  if (type == "Fuse") return decoder.add(DecodeFuse(), node.place());
  if (type == "Strip") return decoder.add(read_strip(node), node.place());
  if (type == "Replace") return decoder.add(read_replace(node), node.place());
  if (type == "Metaspace") return decoder.add(read_metaspace_decoder(node), node.place());
  if (type == "WordPiece") return decoder.add(read_word_piece_decoder(node), node.place());
  if (type != "Sequence")
    node.refuse_type("decoder", {"ByteLevel", "ByteFallback", "Fuse", "Strip", "Replace",
                                 "Metaspace", "WordPiece", "Sequence"});
  for (const TokenizerNode& step : read_sequence(node, "decoders", depth))
    read_decoder(step, decoder, depth + 1);
}

void read_post_processor(const TokenizerNode& node, TokenizerParts& parts, int depth) {
  const std::string type = node.type();
  if (type == "ByteLevel") return;  // moves offsets, of which there are none here
  if (type == "TemplateProcessing") return read_template(node, parts);
  if (type == "RobertaProcessing" || type == "BertProcessing") {
    const std::uint32_t begin = read_text_and_token(node.at("cls")),
                        end = read_text_and_token(node.at("sep"));
    parts.prefix.push_back(begin);
    parts.suffix.push_back(end);
    const auto one = [](std::uint32_t token, std::uint32_t of_type) {
      return PairPiece{std::nullopt, {token}, of_type};
    };
    if (type == "BertProcessing") {
      parts.pair = {one(begin, 0), {0, {}, 0}, one(end, 0), {1, {}, 1}, one(end, 1)};
    } else {  // RoBERTa has one type
      parts.pair = {one(begin, 0), {0, {}, 0}, one(end, 0), one(end, 0), {1, {}, 0}, one(end, 0)};
    }
    return;
  }
  if (type != "Sequence")
    node.refuse_type("post-processor", {"ByteLevel", "TemplateProcessing", "RobertaProcessing",
                                        "BertProcessing", "Sequence"});
  for (const TokenizerNode& step : read_sequence(node, "processors", depth))
    read_post_processor(step, parts, depth + 1);
}

}  // namespace pptrain
