#include "support/complaint.hpp"
#include "text/json_text.hpp"
#include "text/tokenizers.hpp"

namespace pptrain {
namespace {

using Json = nlohmann::json;
using Tokens = std::vector<std::uint32_t>;

/// What is said of the small tokenizer with a part in place of its own.
std::string refused_with(const std::string& pointer, const std::string& value) {
  Json document = small_tokenizer();
  document[Json::json_pointer(pointer)] = Json::parse(value);
  return complaint_of([&] { tokenizer_of(document); });
}

bool begins(const std::string& text, const std::string& start) {
  UNSCOPED_INFO(text);
  return text.starts_with(start);
}

TEST_CASE("what is not known is refused by file and key", "[read]") {
  CHECK(
      begins(refused_with("/model/type", "\"WordLevel\""), "t.json: model.type: the model \"WordLevel\" is not known"));
  CHECK(begins(refused_with("/model/type", "\"WordLevel\""), "t.json: model.type: "));
  CHECK(begins(refused_with("/model/dropout", "0.1"), "t.json: model.dropout: must be null (tokens would change"));
  CHECK(
      begins(refused_with("/model/end_of_word_suffix", "\"</w>\""), "t.json: model.end_of_word_suffix: must be empty"));
  CHECK(begins(refused_with("/model/newer", "1"), "t.json: model: unknown key \"newer\""));
  CHECK(begins(refused_with("/newer", "1"), "t.json: unknown key \"newer\""));
  CHECK(begins(refused_with("/truncation", "{}"), "t.json: truncation: must be null"));
  CHECK(begins(refused_with("/pre_tokenizer", R"({"type": "UnicodeScripts"})"),
               "t.json: pre_tokenizer.type: the pre-tokenizer \"UnicodeScripts\" is not known"));
  CHECK(begins(refused_with("/normalizer", R"({"type": "Sequence", "normalizers": [{"type": "Lowercase"}]})"),
               "t.json: normalizer.normalizers[0].type: the normalizer \"Lowercase\""));
  CHECK(begins(refused_with("/decoder", R"({"type": "CTC"})"), "t.json: decoder.type: the decoder"));
  CHECK(begins(refused_with("/post_processor", R"({"type": "Other"})"), "t.json: post_processor.type: "));
  CHECK(
      begins(refused_with("/pre_tokenizer", R"({"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated"})"),
             "t.json: pre_tokenizer.pattern.Regex: the pattern cannot be read"));
  CHECK(begins(refused_with("/pre_tokenizer", R"({"type": "Split", "pattern": {"String": "a"}, "behavior": "Other"})"),
               "t.json: pre_tokenizer.behavior: is no known behavior"));
}

TEST_CASE("files that contradict themselves are refused", "[read]") {
  CHECK(begins(refused_with("/model/merges", R"(["a b c"])"), "t.json: model.merges[0]: is no merge"));
  CHECK(begins(refused_with("/model/merges", R"([["a", "c"]])"),
               "t.json: model.merges[0]: the token \"ac\" is not in the vocabulary"));
  CHECK(begins(refused_with("/model/merges", "[7]"), "t.json: model.merges[0]: is no merge"));
  CHECK(begins(refused_with("/model/vocab/b", "0"), "t.json: model.vocab: token 0 is there twice"));
  CHECK(begins(refused_with("/model/vocab/b", "-1"), "t.json: model.vocab.b: must be a whole number"));
  CHECK(begins(refused_with("/model/vocab/b", "4294967297"), "t.json: model.vocab.b: must be a whole number"));
  CHECK(begins(refused_with("/model/unk_token", "\"<unk>\""), "t.json: model.unk_token: the token \"<unk>\""));
  CHECK(begins(refused_with("/added_tokens", R"([{"id": 9, "content": "<x>"}])"),
               "t.json: added_tokens[0].id: is not 6"));
  CHECK(begins(refused_with("/added_tokens", R"([{"id": 6, "content": "x"}, {"id": 7, "content": "x"}])"),
               "t.json: added_tokens[1].content: is there twice"));
  CHECK(begins(refused_with("/post_processor",
                            R"({"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}})"),
               "t.json: post_processor.single: has no place for the text"));
  CHECK(begins(refused_with("/post_processor", R"({"type": "RobertaProcessing", "cls": ["<s>", 70], "sep": ["a", 0]})"),
               "t.json: post_processor: puts token 70 in"));
  std::string deep = R"({"type": "NFC"})";
  for (int i = 0; i < 9; ++i) deep = R"({"type": "Sequence", "normalizers": [)" + deep + "]}";
  CHECK(refused_with("/normalizer", deep).find("nested too deeply") != std::string::npos);
  CHECK(begins(complaint_of([] { Tokenizer::parse("{", "t.json"); }), "t.json: this is not JSON"));
  CHECK(begins(complaint_of([] { Tokenizer::parse("[]", "t.json"); }), "t.json: this is no tokenizer"));
  CHECK(begins(complaint_of([] { Tokenizer::read("/no/such/file"); }), "/no/such/file: cannot be read"));
}

TEST_CASE("merges are pairs or texts, and old files do not say that they are BPE", "[read]") {
  Json document = small_tokenizer();
  document["model"].erase("type");
  CHECK(tokenizer_of(document).encode("abcab c") == Tokens{5, 4, 3, 2});
  CHECK(tokenizer_of(document).vocabulary_size() == 6);
}

TEST_CASE("the longest added token is found, and takes the space it asks for", "[added]") {
  Json document = small_tokenizer();
  document["added_tokens"] = Json::parse(R"([
    {"id": 6, "content": "<x>", "special": true, "normalized": false},
    {"id": 7, "content": "<x>b", "normalized": false, "rstrip": true},
    {"id": 8, "content": "<y>", "normalized": false, "lstrip": true},
    {"id": 9, "content": "ca", "normalized": false, "single_word": true}])");
  const Tokenizer tokenizer = tokenizer_of(document);
  CHECK(tokenizer.vocabulary_size() == 10);
  CHECK(tokenizer.encode("a<x>a") == Tokens{0, 6, 0});
  CHECK(tokenizer.encode("<x>b  a") == Tokens{7, 0});
  CHECK(tokenizer.encode("a  <y> a") == Tokens{0, 8, 3, 0});
  CHECK(tokenizer.encode("<x>b <y>") == Tokens{7, 8});
  CHECK(tokenizer.encode("ca ca bca") == Tokens{9, 3, 9, 3, 1, 2, 0});
  CHECK(tokenizer.decode(Tokens{6, 0, 8}, SpecialTokens::left_out) == "a<y>");
}

std::vector<std::string> texts(std::string_view line, const std::vector<std::string>& keys = {"text"}) {
  return texts_of_json_line(line, keys, "x:1", "--json-key");
}

std::string refused_line(std::string_view line, const std::vector<std::string>& keys = {"text"}) {
  return complaint_of([&] { texts(line, keys); });
}

TEST_CASE("lines of JSON", "[read]") {
  using Texts = std::vector<std::string>;
  CHECK(texts(R"({"id": 1, "text": "a\nb\u20ac"})") == Texts{"a\nb\u20ac"});
  CHECK(texts(R"({"t": {"en": "a", "x.de": "b"}, "t.fr": "c"})", {"t.x.de", "t.en", "t.fr"}) == Texts{"b", "a", "c"});
  CHECK(begins(refused_line("{\"a\""), "x:1: this is no JSON object"));
  CHECK(begins(refused_line("[]"), "x:1: this is no JSON object"));
  CHECK(begins(refused_line("{\"text\": 1}"), "x:1: there is no text below \"text\" (the value is no string)"));
  CHECK(begins(refused_line("{}", {"body"}), "x:1: there is no text below \"body\" (the object has no such key)"));
  CHECK(begins(refused_line("{\"t\": \"a\"}", {"t.en"}), "x:1: there is no text below \"t.en\""));
}

}  // namespace
}  // namespace pptrain
