#include "support/complaint.hpp"
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

TEST_CASE("what is not known is refused by file and key", "[read]") {
  CHECK(begins(refused_with("/model/type", "\"WordLevel\""),
               "t.json: model.type: the model \"WordLevel\" is not known"));
  CHECK(begins(refused_with("/model/type", "\"WordLevel\""), "t.json: model.type: "));
  CHECK(begins(refused_with("/model/dropout", "0.1"),
               "t.json: model.dropout: must be null (tokens would change"));
  CHECK(begins(refused_with("/model/end_of_word_suffix", "\"</w>\""),
               "t.json: model.end_of_word_suffix: must be empty"));
  CHECK(begins(refused_with("/model/newer", "1"), "t.json: model: unknown key \"newer\""));
  CHECK(begins(refused_with("/newer", "1"), "t.json: unknown key \"newer\""));
  CHECK(begins(refused_with("/truncation", "{}"), "t.json: truncation: must be null"));
  CHECK(begins(refused_with("/pre_tokenizer", R"({"type": "UnicodeScripts"})"),
               "t.json: pre_tokenizer.type: the pre-tokenizer \"UnicodeScripts\" is not known"));
  CHECK(begins(
      refused_with("/normalizer", R"({"type": "Sequence", "normalizers": [{"type": "Nmt"}]})"),
      "t.json: normalizer.normalizers[0].type: the normalizer \"Nmt\""));
  CHECK(
      begins(refused_with("/decoder", R"({"type": "CTC"})"), "t.json: decoder.type: the decoder"));
  CHECK(begins(refused_with("/post_processor", R"({"type": "Other"})"),
               "t.json: post_processor.type: "));
  CHECK(begins(
      refused_with("/pre_tokenizer",
                   R"({"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated"})"),
      "t.json: pre_tokenizer.pattern.Regex: the pattern cannot be read"));
  CHECK(
      begins(refused_with("/pre_tokenizer",
                          R"({"type": "Split", "pattern": {"String": "a"}, "behavior": "Other"})"),
             "t.json: pre_tokenizer.behavior: is no known behavior"));
}

TEST_CASE("files that contradict themselves are refused", "[read]") {
  CHECK(begins(refused_with("/model/merges", R"(["a b c"])"),
               "t.json: model.merges[0]: is no merge"));
  CHECK(begins(refused_with("/model/merges", R"([["a", "c"]])"),
               "t.json: model.merges[0]: the token \"ac\" is not in the vocabulary"));
  CHECK(begins(refused_with("/model/merges", "[7]"), "t.json: model.merges[0]: is no merge"));
  CHECK(begins(refused_with("/model/vocab/b", "0"), "t.json: model.vocab: token 0 is there twice"));
  CHECK(begins(refused_with("/model/vocab/b", "-1"),
               "t.json: model.vocab.b: must be a whole number"));
  CHECK(begins(refused_with("/model/vocab/b", "4294967297"),
               "t.json: model.vocab.b: must be a whole number"));
  CHECK(begins(refused_with("/model/unk_token", "\"<unk>\""),
               "t.json: model.unk_token: the token \"<unk>\""));
  CHECK(begins(refused_with("/added_tokens", R"([{"id": 9, "content": "<x>"}])"),
               "t.json: added_tokens[0].id: is not 6"));
  CHECK(begins(
      refused_with("/added_tokens", R"([{"id": 6, "content": "x"}, {"id": 7, "content": "x"}])"),
      "t.json: added_tokens[1].content: is there twice"));
  CHECK(begins(
      refused_with(
          "/post_processor",
          R"({"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}})"),
      "t.json: post_processor.single: has no place for the text"));
  CHECK(
      begins(refused_with("/post_processor",
                          R"({"type": "RobertaProcessing", "cls": ["<s>", 70], "sep": ["a", 0]})"),
             "t.json: post_processor: puts token 70 in"));
  std::string deep = R"({"type": "NFC"})";
  for (int i = 0; i < 9; ++i) deep = R"({"type": "Sequence", "normalizers": [)" + deep + "]}";
  CHECK(refused_with("/normalizer", deep).find("nested too deeply") != std::string::npos);
  CHECK(begins(complaint_of([] { Tokenizer::parse("{", "t.json"); }), "t.json: this is not JSON"));
  CHECK(begins(complaint_of([] { Tokenizer::parse("[]", "t.json"); }),
               "t.json: this is no tokenizer"));
  CHECK(begins(complaint_of([] { Tokenizer::read("/no/such/file"); }),
               "/no/such/file: cannot be read"));
}

TEST_CASE("files that are nested more deeply than any tokenizer are refused before they are read",
          "[read]") {
  const std::string deep = repeated("[", 100000) + repeated("]", 100000);
  const std::string whole = small_tokenizer().dump();
  for (const char* key :
       {"\"normalizer\":", "\"version\":", "\"added_tokens\":", "\"merges\":", "\"vocab\":"}) {
    const std::string text = replaced(whole, key, key + deep + ",\"x\":");
    CHECK(begins(complaint_of([&] { Tokenizer::parse(text, "t.json"); }),
                 "t.json:1: has more than 32 levels"));
  }
  CHECK(refused_with("/normalizer", "[[[]]]") ==
        "t.json: normalizer: must be an object (it is an array of 1); take the file as it was "
        "published");
}

TEST_CASE("files whose parts multiply are refused", "[read]") {
  std::string steps;
  for (int i = 0; i < 300; ++i) steps += std::string(i > 0 ? "," : "") + R"({"type": "ByteLevel"})";
  CHECK(begins(
      refused_with("/pre_tokenizer", R"({"type": "Sequence", "pretokenizers": [)" + steps + "]}"),
      "t.json: pre_tokenizer.pretokenizers["));
  CHECK(begins(refused_with("/decoder", R"({"type": "Sequence", "decoders": [)" + steps + "]}"),
               "t.json: decoder.decoders[256]: comes behind 256 steps (256 are the most)"));
  Json document = small_tokenizer();
  for (int i = 0; i < 300; ++i) document["normalizer"]["normalizers"].push_back({{"type", "NFC"}});
  document["normalizer"]["type"] = "Sequence";
  CHECK(begins(complaint_of([&] { tokenizer_of(document); }),
               "t.json: normalizer.normalizers[256]: comes behind 256"));
  // A special token of many tokens, many times.
  Json many = Json::parse(
      R"({"type": "TemplateProcessing", "single": [], "special_tokens": {"x": {"id": "x"}}})");
  many["special_tokens"]["x"]["ids"] = std::vector<int>(1000, 0);
  for (int i = 0; i < 1000; ++i)
    many["single"].push_back({{"SpecialToken", {{"id", "x"}, {"type_id", 0}}}});
  many["single"].push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  CHECK(begins(refused_with("/post_processor", many.dump()),
               "t.json: post_processor.special_tokens: put too many tokens in (1024 around a text "
               "are the most)"));
  many["pair"] = many["single"];
  many["single"] = Json::array({many["single"].back()});
  CHECK(begins(refused_with("/post_processor", many.dump()),
               "t.json: post_processor.special_tokens: put too many"));
}

TEST_CASE("tokens that are looked for everywhere have a limited length", "[read]") {
  const std::string longest(2048, 'a');
  const auto unigram = [&](const std::string& token) {
    Json vocabulary = Json::array(
        {Json::array({"<unk>", 0.0}), Json::array({"a", -1.0}), Json::array({token, -2.0})});
    return Json{{"type", "Unigram"}, {"unk_id", 0}, {"vocab", std::move(vocabulary)}}.dump();
  };
  Json document = small_tokenizer();
  document["model"] = Json::parse(unigram(longest));
  CHECK(tokenizer_of(document).encode(longest + "aa") == Tokens{1, 1, 2});
  CHECK(begins(refused_with("/model", unigram(longest + "a")),
               "t.json: model.vocab[2]: a token has 2049 bytes (2048 are the most)"));
  CHECK(begins(
      refused_with("/added_tokens", Json::array({{{"id", 6}, {"content", longest + "a"}}}).dump()),
      "t.json: added_tokens[0].content: a token has 2049 bytes"));
  CHECK(begins(refused_with("/model", Json{{"type", "WordPiece"},
                                           {"unk_token", "a"},
                                           {"vocab", {{"a", 0}, {longest + "a", 1}}}}
                                          .dump()),
               "t.json: model.vocab: a token has 2049 bytes"));
}

TEST_CASE("steps of a decoder that make texts ever longer are refused", "[read]") {
  Json document = small_tokenizer();
  document["decoder"] = {{"type", "Sequence"}, {"decoders", Json::array()}};
  for (int i = 0; i < 40; ++i)
    document["decoder"]["decoders"].push_back(
        {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}});
  const Tokenizer tokenizer = tokenizer_of(document);
  CHECK(tokenizer.decode(Tokens{1, 2}) == "bc");
  CHECK(begins(complaint_of([&] { tokenizer.decode(Tokens{0}); }),
               "t.json: decoder.decoders[12]: makes more than"));
}

TEST_CASE("white space that several tokens take is taken by the first", "[added]") {
  Json document = small_tokenizer();
  document["added_tokens"] = Json::parse(R"([
    {"id": 6, "content": "\t", "normalized": false, "lstrip": true, "rstrip": true},
    {"id": 7, "content": "<l>", "normalized": false, "lstrip": true}])");
  const Tokenizer tokenizer = tokenizer_of(document);
  CHECK(tokenizer.encode("a \t b") == Tokens{0, 6, 1});
  CHECK(tokenizer.encode("a \t \t b") == Tokens{0, 6, 6, 1});
  CHECK(tokenizer.encode("a\t  <l>b") == Tokens{0, 6, 7, 1});
  CHECK(tokenizer.encode(std::string(300000, '\t')) == Tokens(300000, 6));  // in a time that is not
                                                                            // quadratic
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

}  // namespace
}  // namespace pptrain
