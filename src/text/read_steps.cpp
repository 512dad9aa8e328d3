#include <fmt/format.h>

#include <map>

#include "text/read_parts.hpp"
#include "text/utf8.hpp"

namespace pptrain {
namespace {

constexpr int deepest_sequence = 8;

// What GPT-2 cuts text by (Radford et al. 2019, encoder.py); ByteLevel with use_regex means this
// expression.
constexpr const char* gpt2_expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

SplitBehavior read_behavior(const TokenizerNode& node) {
  static const std::map<std::string, SplitBehavior> known = {
      {"Isolated", SplitBehavior::isolated},
      {"Removed", SplitBehavior::removed},
      {"MergedWithPrevious", SplitBehavior::merged_with_previous},
      {"MergedWithNext", SplitBehavior::merged_with_next},
      {"Contiguous", SplitBehavior::contiguous}};
  const auto found = known.find(node.string());
  if (found != known.end()) return found->second;
  node.refuse("is no known behavior",
              "known: Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous",
              "take one of them");
}

SplitRule read_split(const TokenizerNode& node) {
  node.allow_keys({"type", "pattern", "behavior", "invert"});
  return {read_pattern(node.at("pattern")), read_behavior(node.at("behavior")),
          node.boolean_or("invert", false)};
}

SplitRule read_digits(const TokenizerNode& node) {
  node.allow_keys({"type", "individual_digits"});
  const bool individual = node.boolean_or("individual_digits", false);
  return {Pattern::regex(R"(\p{N})", node.place()),
          individual ? SplitBehavior::isolated : SplitBehavior::contiguous};
}

SplitRule read_punctuation(const TokenizerNode& node) {
  node.allow_keys({"type", "behavior"});
  const Pattern punctuation = Pattern::regex(R"([!-/:-@\[-`{-~\p{P}])", node.place());
  return {punctuation,
          node.has("behavior") ? read_behavior(node.at("behavior")) : SplitBehavior::isolated};
}

/// Cuts at white space, which no word has.
SplitRule at_spaces(const TokenizerNode& node) {
  return {Pattern::regex(R"(\s)", node.place()), SplitBehavior::removed};
}

SplitRule read_whitespace(const TokenizerNode& node) {
  node.allow_keys({"type"});
  // Rust's \w has the joiners, which Oniguruma's has not.
  if (node.type() == "Whitespace")
    return {Pattern::regex(R"([\w\u200C\u200D]+|[^\w\u200C\u200D\s]+)", node.place()),
            SplitBehavior::removed, true};
  return at_spaces(node);
}

SplitRule read_delimiter(const TokenizerNode& node) {
  node.allow_keys({"type", "delimiter"});
  std::string delimiter;
  append_utf8(delimiter, node.at("delimiter").character());
  return {Pattern::literal(delimiter, node.place()), SplitBehavior::removed};
}

/// Without a word about accents they go where capital letters go.
BertText read_bert_text(const TokenizerNode& node) {
  node.allow_keys({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  const bool lowers = node.boolean_or("lowercase", true);
  return {node.boolean_or("clean_text", true), node.boolean_or("handle_chinese_chars", true),
          node.boolean_or("strip_accents", lowers), lowers};
}

CharacterMap read_character_map(const TokenizerNode& node) {
  node.allow_keys({"type", "precompiled_charsmap"});
  const TokenizerNode table = node.at("precompiled_charsmap");
  CharacterMap map;
  if (const std::string wrong = map.read(from_base64(table.string())); !wrong.empty())
    table.refuse("is no table of characters", wrong, "take the file as it was published");
  return map;
}

PrependScheme read_prepend(const TokenizerNode& node) {
  const bool adds = node.boolean_or("add_prefix_space", true);
  if (!node.has("prepend_scheme")) return adds ? PrependScheme::always : PrependScheme::never;
  const TokenizerNode scheme = node.at("prepend_scheme");
  const std::string name = scheme.string();
  if (name != "always" && name != "first" && name != "never")
    scheme.refuse("is no known scheme", "known: always, first, never", "take one of them");
  if (!adds && name != "never")
    scheme.refuse("contradicts add_prefix_space",
                  "one says that a mark is put in front and one that none is",
                  "leave add_prefix_space out");
  return name == "always"  ? PrependScheme::always
         : name == "first" ? PrependScheme::first
                           : PrependScheme::never;
}

MetaspaceRule read_metaspace(const TokenizerNode& node) {
  node.allow_keys(
      {"type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"});
  MetaspaceRule rule = {{}, read_prepend(node), {Pattern::literal("\u2581", node.place())}, true};
  append_utf8(rule.mark, node.at("replacement").character());
  rule.split = {Pattern::literal(rule.mark, node.place()), SplitBehavior::merged_with_next};
  rule.splits = node.boolean_or("split", true);
  return rule;
}

void read_byte_level(const TokenizerNode& node, ReadPreTokenizer& read) {
  node.allow_keys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  if (node.boolean_or("add_prefix_space", true)) read.steps.add(PrefixSpace(), node.place());
  if (node.boolean_or("use_regex", true))
    read.steps.add(SplitRule{Pattern::regex(gpt2_expression, node.place())}, node.place());
  read.bytes = true;
}

}  // namespace

Pattern read_pattern(const TokenizerNode& node) {
  node.allow_keys({"Regex", "String"});
  const bool regex = node.has("Regex");
  const TokenizerNode text = node.at(regex ? "Regex" : "String");
  if (text.string().empty())
    text.refuse("is empty", "there is nothing to look for", "leave this step out");
  return regex ? Pattern::regex(text.string(), text.place())
               : Pattern::literal(text.string(), text.place());
}

std::vector<TokenizerNode> read_sequence(const TokenizerNode& node, const std::string& key,
                                         int depth) {
  if (depth >= deepest_sequence)
    node.refuse("sequences are nested too deeply", fmt::format("{} are the most", deepest_sequence),
                "put the steps in one sequence");
  node.allow_keys({"type", key});
  return node.at(key).elements();
}

void check_num_steps(const TokenizerNode& node, std::size_t before) {
  if (before < most_tokenizer_steps) return;
  node.refuse(fmt::format("comes behind {} steps", before),
              fmt::format("{} are the most", most_tokenizer_steps),
              "leave out the steps that change nothing, or use another tokenizer");
}

void read_normalizer(const TokenizerNode& node, Normalizer& normalizer, int depth) {
  static const std::map<std::string, UnicodeForm> forms = {{"NFC", UnicodeForm::nfc},
                                                           {"NFD", UnicodeForm::nfd},
                                                           {"NFKC", UnicodeForm::nfkc},
                                                           {"NFKD", UnicodeForm::nfkd}};
  check_num_steps(node, normalizer.num_steps());
  const std::string type = node.type();
  if (const auto form = forms.find(type); form != forms.end()) {
    node.allow_keys({"type"});
    normalizer.add(form->second, node.place());
  } else if (type == "Prepend") {
    node.allow_keys({"type", "prepend"});
    normalizer.add(PrependText{node.at("prepend").string()}, node.place());
  } else if (type == "Replace") {
    node.allow_keys({"type", "pattern", "content"});
    normalizer.add(ReplaceText{read_pattern(node.at("pattern")), node.at("content").string()},
                   node.place());
  } else if (type == "Strip") {
    node.allow_keys({"type", "strip_left", "strip_right"});
    normalizer.add(
        StripText{node.boolean_or("strip_left", true), node.boolean_or("strip_right", true)},
        node.place());
  } else if (type == "Precompiled") {
    normalizer.add(read_character_map(node), node.place());
  } else if (type == "StripAccents") {
    node.allow_keys({"type"});
    normalizer.add(StripMarks(), node.place());
  } else if (type == "Lowercase") {
    node.allow_keys({"type"});
    normalizer.add(LowerText(), node.place());
  } else if (type == "BertNormalizer") {
    normalizer.add(read_bert_text(node), node.place());
  } else if (type == "Sequence") {
    for (const TokenizerNode& step : read_sequence(node, "normalizers", depth))
      read_normalizer(step, normalizer, depth + 1);
  } else {
    node.refuse_type("normalizer",
                     {"NFC", "NFD", "NFKC", "NFKD", "Prepend", "Replace", "Strip", "StripAccents",
                      "Lowercase", "Precompiled", "BertNormalizer", "Sequence"});
  }
}

void read_pre_tokenizer(const TokenizerNode& node, ReadPreTokenizer& read, int depth) {
  check_num_steps(node, read.steps.num_steps());
  const std::string type = node.type();
  if (read.bytes && type != "Sequence") {  // steps behind ByteLevel see the characters that stand
                                           // for bytes
    read.steps.add(ByteCharacters(), node.place());
    read.bytes = false;
  }
  if (type == "ByteLevel") return read_byte_level(node, read);
  if (type == "Split") return read.steps.add(read_split(node), node.place());
  if (type == "Digits") return read.steps.add(read_digits(node), node.place());
  if (type == "Punctuation") return read.steps.add(read_punctuation(node), node.place());
  if (type == "Whitespace" || type == "WhitespaceSplit")
    return read.steps.add(read_whitespace(node), node.place());
  if (type == "BertPreTokenizer") {
    read.steps.add(at_spaces(node), node.place());
    return read.steps.add(read_punctuation(node), node.place());
  }
  if (type == "CharDelimiterSplit") return read.steps.add(read_delimiter(node), node.place());
  if (type == "Metaspace") return read.steps.add(read_metaspace(node), node.place());
  if (type != "Sequence")
    node.refuse_type("pre-tokenizer", {"ByteLevel", "Split", "Digits", "Punctuation", "Whitespace",
                                       "WhitespaceSplit", "CharDelimiterSplit", "Metaspace",
                                       "BertPreTokenizer", "Sequence"});
  for (const TokenizerNode& step : read_sequence(node, "pretokenizers", depth))
    read_pre_tokenizer(step, read, depth + 1);
}

}  // namespace pptrain
