// What a config.json of OPT says, and what of it cannot be followed.
#include <fstream>
#include <sstream>

#include "model/families/families.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

using namespace pptrain;

namespace {

/// The recorded model's file with a text in it replaced.
ConfigJson changed(const std::string& from, const std::string& to,
                   const std::string& file = "config.json") {
  std::ostringstream stream;
  stream << std::ifstream(test_data("models/opt/") + file).rdbuf();
  std::string text = stream.str();
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return ConfigJson::parse(text.replace(at, from.size(), to), file);
}

std::string refusal(const std::string& from, const std::string& to) {
  return complaint_of([&] { build_family(changed(from, to), {16}); });
}

std::vector<std::string> parameters(const Model& model) {
  std::vector<std::string> names;
  for (const Layer& layer : model.layers) {
    for (const ParameterSpec& spec : layer.parameters) names.push_back(spec.name);
  }
  return names;
}

std::size_t num_biases(const Model& model) {
  std::size_t biases = 0;
  for (const std::string& name : parameters(model)) biases += name.ends_with(".bias") ? 1U : 0U;
  return biases;
}

}  // namespace

TEST_CASE("forms of OPT that cannot be followed are refused", "[families]") {
  CHECK(refusal("\"word_embed_proj_dim\": 40", "\"word_embed_proj_dim\": 20")
            .find("word_embed_proj_dim") != std::string::npos);
  CHECK(refusal("\"do_layer_norm_before\": true", "\"do_layer_norm_before\": false")
            .find("norms come before") != std::string::npos);
  CHECK(refusal("\"_remove_final_layer_norm\": false", "\"_remove_final_layer_norm\": true")
            .find("_remove_final_layer_norm") != std::string::npos);
  CHECK(
      refusal("\"layer_norm_elementwise_affine\": true", "\"layer_norm_elementwise_affine\": false")
          .find("norms have weights") != std::string::npos);
  CHECK(refusal("\"num_attention_heads\": 4", "\"num_attention_heads\": 3")
            .find("3 heads of 40 columns") != std::string::npos);
  CHECK(refusal("\"max_position_embeddings\": 24", "\"max_position_embeddings\": 15")
            .find("sequence_length <= 15") != std::string::npos);
  CHECK(
      refusal("\"ffn_dim\"", "\"scale_embeddings\": true, \"ffn_dim\"").find("scale_embeddings") !=
      std::string::npos);
}

TEST_CASE("products of OPT without biases keep those of the norms", "[families]") {
  const std::string biases = "\"enable_bias\": true";
  const Model with = build_family(changed(biases, biases), {16});
  const Model without = build_family(changed(biases, "\"enable_bias\": false"), {16});
  CHECK(num_biases(with) == 2 * 8 + 1);
  CHECK(num_biases(without) == 2 * 2 + 1);
}

TEST_CASE("both spellings of OPT's configuration give one model", "[families]") {
  const std::string any = "\"ffn_dim\": 48";
  CHECK(parameters(build_family(changed(any, any, "config-v4.json"), {16})) ==
        parameters(build_family(changed(any, any), {16})));
}
