#include "text/json_text.hpp"

#include "base/json_levels.hpp"
#include "data/files.hpp"
#include "support/complaint.hpp"
#include "text/tokenizers.hpp"

namespace pptrain {
namespace {

using Json = nlohmann::json;

std::vector<std::string> texts(std::string_view line,
                               const std::vector<std::string>& keys = {"text"}) {
  return texts_of_json_line(line, keys, "x:1", "--json-key");
}

std::string refused_line(std::string_view line, const std::vector<std::string>& keys = {"text"}) {
  return complaint_of([&] { texts(line, keys); });
}

TEST_CASE("lines of JSON", "[json_text]") {
  using Texts = std::vector<std::string>;
  CHECK(texts(R"({"id": 1, "text": "a\nb\u20ac"})") == Texts{"a\nb\u20ac"});
  CHECK(texts(R"({"t": {"en": "a", "x.de": "b"}, "t.fr": "c"})", {"t.x.de", "t.en", "t.fr"}) ==
        Texts{"b", "a", "c"});
  CHECK(begins(refused_line("{\"a\""), "x:1: this is no JSON object"));
  CHECK(begins(refused_line("[]"), "x:1: this is no JSON object"));
  CHECK(begins(refused_line("{\"text\": 1}"),
               "x:1: there is no text below \"text\" (the value is no string)"));
  CHECK(begins(refused_line("{}", {"body"}),
               "x:1: there is no text below \"body\" (the object has no such key)"));
  CHECK(begins(refused_line("{\"t\": \"a\"}", {"t.en"}), "x:1: there is no text below \"t.en\""));
}

TEST_CASE("tokens with a role are named beside the tokenizer", "[json_text]") {
  const std::string deep = repeated("[", 100000) + repeated("]", 100000);
  const TestFolder folder("tokenizer_config");
  folder.write("tokenizer_config.json", "{\"eos_token\":" + deep + "}");
  CHECK(complaint_of([&] {
          named_token(folder.path(""), "eos_token");
        }).find("tokenizer_config.json:1: has more than 32 levels") != std::string::npos);
  folder.write("tokenizer_config.json", R"({"eos_token": NaN})");
  CHECK(complaint_of([&] { named_token(folder.path(""), "eos_token"); })
            .find("tokenizer_config.json: this is no JSON object (syntax error while parsing value "
                  "- invalid literal") != std::string::npos);
  folder.write("tokenizer_config.json", R"({"eos_token": {"content": "</s>"}})");
  CHECK(named_token(folder.path(""), "eos_token") == "</s>");
}

TEST_CASE("a token is named as text or with a description, for a file or its folder",
          "[json_text]") {
  const TestFolder folder("named_token");
  std::filesystem::create_directory(folder.path("model"));
  CHECK_FALSE(named_token(folder.path("model"), "eos_token"));
  folder.write("model/tokenizer_config.json",
               R"({"eos_token": "<e>", "bos_token": {"content": "<b>", "lstrip": false},
                   "pad_token": null, "unk_token": {"content": 7}})");
  for (const char* name : {"model", "model/", "model/tokenizer.json"}) {
    const std::string tokenizer = folder.path(name);
    CHECK(named_token(tokenizer, "eos_token") == "<e>");
    CHECK(named_token(tokenizer, "bos_token") == "<b>");
    for (const char* role : {"pad_token", "unk_token", "cls_token"})
      CHECK_FALSE(named_token(tokenizer, role));
  }
}

TEST_CASE("a file holds one JSON object, or is not there", "[json_text]") {
  const TestFolder folder("json_object");
  CHECK_FALSE(read_json_object(folder.path("none.json")));
  CHECK(read_json_object(folder.write("a.json", R"({"a": [1, "x"]})")) ==
        Json{{"a", Json::array({1, "x"})}});
  const std::string list = folder.write("list.json", "[{}]");
  CHECK(complaint_of([&] { read_json_object(list); }) ==
        list + ": this is no JSON object; correct the file, or take it as it was published");
  const std::string cut = folder.write("cut.json", "{\"a\": 1");
  CHECK(begins(complaint_of([&] { read_json_object(cut); }), cut + ": this is no JSON object ("));
  const auto levels = [](int count) {
    return "{\"a\":" + repeated("[", count - 1) + repeated("]", count - 1) + "}";
  };
  CHECK(read_json_object(folder.write("deep.json", levels(most_json_levels))));
  const std::string deeper = folder.write("deeper.json", levels(most_json_levels + 1));
  CHECK(begins(complaint_of([&] { read_json_object(deeper); }), deeper + ":1: has more than "));
}

}  // namespace
}  // namespace pptrain
