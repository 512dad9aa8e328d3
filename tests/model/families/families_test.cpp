// The table of families, and what all of them do alike. What single ones make of their keys is in
// the tests beside and in tests/model/*_families_test.cpp, and that files of transformers are taken
// in tests/model/config_files_test.cpp.
#include "model/families/families.hpp"

#include <fmt/format.h>

#include <set>

#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

ConfigJson of_type(const std::string& type, const std::string& more = "") {
  return ConfigJson::parse(
      fmt::format(R"({{"model_type": "{}", "num_hidden_layers": 2, "hidden_size": 64,
"intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2,
"vocab_size": 300{}}})",
                  type, more),
      "config.json");
}

Model built(const std::string& type, const std::string& more = "") {
  return build_family(of_type(type, more), {.tokens = 8});
}

TEST_CASE("a family is found by its type and by those of models whose texts are its own",
          "[families]") {
  std::set<std::string> types;
  for (const Family& family : families()) {
    CAPTURE(family.type);
    CHECK(types.insert(family.type).second);
    CHECK(&family_of(ConfigJson::parse(fmt::format(R"({{"model_type": "{}"}})", family.type),
                                       "config.json")) == &family);
    for (const std::string& type : family.text_types) {
      CHECK(types.insert(type).second);
      CHECK(&family_of(of_type(type, R"(, "rms_norm_eps": 1e-6, "rope_theta": 1e4)")) == &family);
    }
  }
  CHECK(std::string(family_of(ConfigJson::parse(
                                  R"({"model_type": "any", "text_config": {"model_type": "opt"}})",
                                  "config.json"))
                        .type) == "opt");
  const std::string unknown = complaint_of([] { family_of(of_type("lama")); });
  CHECK(unknown.starts_with("config.json:1: model_type: is \"lama\" (known families are gpt2, "));
  CHECK(unknown.ends_with("; did you mean \"llama\"?"));
}

TEST_CASE("keys that nobody asks for are refused, but for what changes nothing in a family",
          "[families]") {
  const auto refused = [](const std::string& type, const std::string& more) {
    return complaint_of([&] { built(type, more); });
  };
  CHECK(refused("llama", ",\n\"no_such_key\": 1")
            .starts_with("config.json:4: no_such_key: is not known"));
  // A key of heads for other tasks.
  const std::string summary = R"(, "summary_type": "mean")";
  const std::string gpt2 = R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 2,
"vocab_size": 300, "n_positions": 8)";
  CHECK(build_family(ConfigJson::parse(gpt2 + summary + "}", "config.json"), {.tokens = 8})
            .num_layers() == 3);
  CHECK_THAT(refused("llama", summary), Catch::Contains("summary_type: is not known"));
  // What Mistral's class passes over gives Llama's layers biases.
  const std::string biases = R"(, "attention_bias": true)";
  CHECK(built("mistral", biases).num_parameters() == built("mistral").num_parameters());
  CHECK(built("llama", biases).num_parameters() ==
        built("llama").num_parameters() + 2 * (64 + 32 + 32 + 64));
}

TEST_CASE("classes are those of families that tell them apart", "[families]") {
  const std::string labels = R"(, "num_labels": 7)";
  CHECK(built("llama", labels).sample.classes == 300);
  const auto images = [&](std::int64_t image_size) {
    return build_family(ConfigJson::parse(R"({"model_type": "resnet")" + labels + "}", "c.json"),
                        {.tokens = 1, .image_size = image_size})
        .sample;
  };
  CHECK(images(64).classes == 7);
  CHECK(images(64).features == 3 * 64 * 64);
  CHECK(images(0).features == 3 * 224 * 224);  // the family's
}

}  // namespace
}  // namespace pptrain
