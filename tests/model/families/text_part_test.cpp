// Text models of models with parts for images, as their files describe them.
#include "model/families/text_part.hpp"

#include <nlohmann/json.hpp>

#include "model/families/families.hpp"
#include "model/model.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

using Json = nlohmann::ordered_json;

Model built(const Json& config) {
  return build_family(ConfigJson::parse(config.dump(), "config.json"), {.tokens = 8});
}

/// Keys of Qwen2.5 7B, which its model for images and texts has too.
Json qwen_7b() {
  return {
      {"hidden_size", 3584},       {"intermediate_size", 18944}, {"num_hidden_layers", 28},
      {"num_attention_heads", 28}, {"num_key_value_heads", 4},   {"rms_norm_eps", 1e-6},
      {"rope_theta", 1e6},         {"vocab_size", 152064},       {"tie_word_embeddings", false}};
}

Json of_type(const std::string& type, Json keys) {
  keys["model_type"] = type;
  return keys;
}

/// The file of Qwen2.5-VL 7B as it is published: text and images in one object.
Json flat() {
  Json whole = of_type("qwen2_5_vl", qwen_7b());
  whole["architectures"] = {"Qwen2_5_VLForConditionalGeneration"};
  whole["rope_scaling"] = {{"type", "mrope"}, {"mrope_section", {16, 24, 24}}};
  whole["vision_config"] = {{"hidden_size", 1280}};
  for (const char* key :
       {"image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id"})
    whole[key] = 1;
  return whole;
}

/// The file of Qwen2.5-VL 7B as transformers 5 writes it.
Json nested() {
  Json text = of_type("qwen2_5_vl_text", qwen_7b());
  text.erase("rope_theta");
  text["rope_parameters"] = {
      {"rope_type", "default"}, {"rope_theta", 1e6}, {"mrope_section", {16, 24, 24}}};
  return {{"model_type", "qwen2_5_vl"},
          {"text_config", text},
          {"vision_config", {{"hidden_size", 1280}}}};
}

void check_equal(const Model& model, const Model& other) {
  CHECK(model.name == other.name);
  REQUIRE(model.num_layers() == other.num_layers());
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    CHECK(model.layers[l].signature == other.layers[l].signature);
    CHECK(model.layers[l].parameters.size() == other.layers[l].parameters.size());
  }
}

TEST_CASE("text models of Qwen's models for images are the models of its texts", "[text_part]") {
  const Model alone = built(of_type("qwen2", qwen_7b()));
  CHECK(alone.num_parameters() == 7615616512);  // as the card of Qwen2.5-7B says: 7.61 billion
  check_equal(built(flat()), alone);
  check_equal(built(nested()), alone);
  Json third = qwen_7b();
  third["head_dim"] = 128;
  third["rope_scaling"] = {
      {"rope_type", "default"}, {"mrope_section", {24, 20, 20}}, {"mrope_interleaved", true}};
  const Model qwen3 = built(of_type("qwen3", third));
  check_equal(built({{"model_type", "qwen3_vl"}, {"text_config", of_type("qwen3_vl_text", third)}}),
              qwen3);
}

TEST_CASE("the description of a text model is its family's", "[text_part]") {
  const Json described = text_description(flat(), "qwen2");
  CHECK(described == of_type("qwen2", qwen_7b()));
  check_equal(built(text_description(nested(), "qwen2")), built(nested()));
  CHECK(text_description(nested(), "qwen2").at("rope_parameters") == Json{{"rope_theta", 1e6}});
  // Descriptions of a family, alone or in another one, stay as they are.
  const Json alone = of_type("llama", qwen_7b());
  CHECK(text_description(alone, "llama") == alone);
  CHECK(text_description({{"model_type", "llava"}, {"text_config", alone}}, "llama") == alone);
}

TEST_CASE("sizes that classes fill in differently are asked for", "[text_part]") {
  const auto complaint = [](Json config, const char* without) {
    config.erase(without);
    return complaint_of([&] { built(config); });
  };
  CHECK_THAT(complaint(flat(), "rms_norm_eps"),
             Catch::Contains("config.json: rms_norm_eps: is left out") &&
                 Catch::Contains("a qwen2_5_vl is read as a qwen2"));
  CHECK_THAT(complaint(flat(), "rope_theta"), Catch::Contains("rope_theta: is left out"));
  Json inner = nested();
  inner["text_config"].erase("num_key_value_heads");
  CHECK_THAT(complaint_of([&] { built(inner); }),
             Catch::Contains("text_config.num_key_value_heads: is left out"));
  // Keys for images are known beside a text type alone.
  Json text = of_type("qwen2", qwen_7b());
  text["vision_config"] = {{"hidden_size", 1280}};
  CHECK_THAT(complaint_of([&] { built(text); }), Catch::Contains("vision_config"));
}

}  // namespace
}  // namespace pptrain
