// What a config.json of T5 says, and what follows for the chain: ports, ties, divisions.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "model/families/families.hpp"
#include "model/graph/layer_graph.hpp"
#include "model/model.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

using namespace pptrain;

namespace {

const std::string folder = test_data("models/t5/");

/// The recorded model's file with a text in it replaced.
ConfigJson changed(const std::string& from, const std::string& to,
                   const std::string& file = "config.json") {
  std::ostringstream stream;
  stream << std::ifstream(folder + file).rdbuf();
  std::string text = stream.str();
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return ConfigJson::parse(text.replace(at, from.size(), to), file);
}

const std::string any = "\"d_ff\": 96";

Model built(const ConfigJson& config) { return build_family(config, {18, 4.0, 26}); }
Model published() { return built(changed(any, any)); }
/// A model of version 1.0: the output is the table of tokens, and there is one product before ReLU.
Model first_version() {
  return built(ConfigJson::parse(
      R"({"model_type": "t5", "d_model": 40, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_heads": 3, "vocab_size": 200,
          "n_positions": 512, "output_past": true, "feed_forward_proj": "relu"})",
      "config.json"));
}

std::string refusal(const std::string& from, const std::string& to) {
  return complaint_of([&] { built(changed(from, to)); });
}

std::vector<std::string> parameters(const Model& model) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : logical_parameters(model)) names.push_back(spec.name);
  return names;
}

const SharedParameter& shared(const std::vector<SharedParameter>& all, const std::string& name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.spec->name == name; });
  REQUIRE(found != all.end());
  return *found;
}

}  // namespace

TEST_CASE("a decoder's layers hand the source on as long as one reads it", "[families]") {
  const Model model = published();
  REQUIRE(model.num_layers() == 9);
  CHECK(model.layers[0].name == "encoder.embedding");
  CHECK(model.layers[4].name == "decoder.embedding");
  const Port encoded = {26, 40}, source = {26, 40, "source"}, stream = {18, 40};
  for (const int layer : {0, 1, 2, 3}) CHECK(model.boundary_behind(layer) == Boundary(encoded));
  for (const int layer : {4, 5, 6})
    CHECK(model.boundary_behind(layer) == Boundary({source, stream}));
  CHECK(model.boundary_behind(7) == Boundary(stream));
  CHECK(model.layers[5].signature == model.layers[6].signature);
  CHECK(model.layers[5].signature != model.layers[7].signature);
  CHECK(model.layers[1].signature == model.layers[3].signature);
  CHECK((model.layers[4].reads_decoder_tokens() && !model.layers[0].reads_decoder_tokens()));
}

TEST_CASE("samples of pairs say what they are", "[families]") {
  const SampleShape sample = published().sample;
  CHECK((sample.rows == 18 && sample.classes == 200 && sample.input_tokens() == 26));
  CHECK((sample.tokens() && sample.has_source() && sample.has_unlabelled() &&
         !sample.predicts_next()));
  CHECK(sample.source == SourceShape{26, 0, 0});
  // Without another length sources are as long as targets.
  CHECK(build_family(changed(any, any), {18, 4.0}).sample.source.length == 18);
}

TEST_CASE("tables of tokens and of distances are tied", "[families]") {
  const Model model = published();
  const std::vector<SharedParameter> ties = model.shared_parameters();
  CHECK(ties.size() == 3);
  CHECK(shared(ties, "shared.weight").layers == std::vector<std::int64_t>{0, 4});
  const std::string bias = ".block.0.layer.0.SelfAttention.relative_attention_bias.weight";
  CHECK(shared(ties, "decoder" + bias).layers == std::vector<std::int64_t>{5, 6, 7});
  const SharedParameter& table = shared(ties, "encoder" + bias);
  CHECK(table.layers == std::vector<std::int64_t>{1, 2, 3});
  // What a group divides are rows, so that files have it the other way.
  CHECK(table.spec->shape == std::vector<std::int64_t>{3, 16});
  CHECK((table.spec->axis == ShardAxis::heads && table.spec->dimension == 0));
  CHECK(table.spec->layout == FileLayout::transposed);
  const Model first = first_version();
  CHECK(shared(first.shared_parameters(), "shared.weight").layers ==
        std::vector<std::int64_t>{0, 3, 6});
}

TEST_CASE("an output layer of its own and a tied one, which is scaled", "[families]") {
  const auto has = [](const Model& model, const std::string& name) {
    const std::vector<std::string> names = parameters(model);
    return std::count(names.begin(), names.end(), name) == 1;
  };
  const auto scales = [](const Model& model) {
    const auto& operators = model.layers.back().operators.operators;
    return std::any_of(operators.begin(), operators.end(),
                       [](const Operator& op) { return op.as<op::Scaling>() != nullptr; });
  };
  CHECK((has(published(), "lm_head.weight") && !scales(published())));
  CHECK((!has(first_version(), "lm_head.weight") && scales(first_version())));
  CHECK(has(first_version(), "decoder.block.1.layer.2.DenseReluDense.wi.weight"));
  CHECK(has(published(), "decoder.block.1.layer.2.DenseReluDense.wi_1.weight"));
  // Both libraries' spellings of a model of version 1.0.
  const Model newer =
      built(changed("\"scale_decoder_outputs\": false", "\"scale_decoder_outputs\": true"));
  const Model older = built(
      changed("\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true", "config-v4.json"));
  for (const Model& model : {newer, older}) CHECK((!has(model, "lm_head.weight") && scales(model)));
}

TEST_CASE("both spellings of T5's configuration give one model", "[families]") {
  CHECK(parameters(built(changed(any, any, "config-v4.json"))) == parameters(published()));
  CHECK(built(changed(any, any, "config-v4.json")).layers.back().signature ==
        published().layers.back().signature);
}

TEST_CASE("what layers between the ends share with them is not hidden, nor are tables",
          "[families]") {
  ModelConfig from;
  from.from = folder;
  TrainingConfig training;
  training.sequence_length = 18;
  const Model model = build_model(from, training, "test");
  CHECK(model.sample.source.length == 18);
  for (const Layer& layer : model.layers) {
    for (const ParameterSpec& spec : layer.parameters) {
      INFO(layer.name << ": " << spec.name);
      const bool is_table =
          spec.name == "shared.weight" || spec.name.ends_with("relative_attention_bias.weight");
      CHECK(spec.hidden == (!is_table && spec.name != "lm_head.weight" &&
                            spec.name != "decoder.final_layer_norm.weight"));
    }
  }
}

TEST_CASE("attention to a source costs by both lengths", "[families]") {
  const auto flop = [](std::int64_t target, std::int64_t source) {
    return build_family(changed(any, any), {target, 4.0, source}).layers[5].flop_forward;
  };
  // Scores and their product with the values: four operations for each of 48 columns, query and
  // key; two for each weight of keys and values, which are made of the source.
  CHECK(flop(18, 27) - flop(18, 26) == Approx(4.0 * 48.0 * 18.0 + 2.0 * 2.0 * 40.0 * 48.0));
}

TEST_CASE("forms of T5 that cannot be followed are refused", "[families]") {
  CHECK_THAT(refusal("\"is_decoder\": false", "\"is_decoder\": true"),
             Catch::Contains("is_decoder"));
  CHECK_THAT(refusal("\"is_encoder_decoder\": true", "\"is_encoder_decoder\": false"),
             Catch::Contains("there are an encoder and a decoder"));
  CHECK_THAT(
      refusal("\"feed_forward_proj\": \"gated-gelu\"", "\"feed_forward_proj\": \"gated-tanh\""),
      Catch::Contains("feed_forward_proj = \"tanh\" is not known"));
  CHECK_THAT(refusal("\"dense_act_fn\": \"gelu_new\"", "\"dense_act_fn\": \"relu\""),
             Catch::Contains("dense_act_fn"));
  CHECK_THAT(refusal("\"pad_token_id\": 0", "\"pad_token_id\": 200"),
             Catch::Contains("pad_token_id = 200 is no token"));
  CHECK_THAT(refusal("\"decoder_start_token_id\": 0", "\"decoder_start_token_id\": -1"),
             Catch::Contains("decoder_start_token_id = -1 is no token"));
  CHECK_THAT(
      refusal("\"relative_attention_num_buckets\": 16", "\"relative_attention_num_buckets\": 7"),
      Catch::Contains("7 buckets of distances"));
  CHECK_THAT(
      refusal("\"relative_attention_max_distance\": 32", "\"relative_attention_max_distance\": 8"),
      Catch::Contains("distances up to 8 in 16 buckets"));
  CHECK_THAT(refusal("\"d_ff\": 96", "\"d_ff\": 96, \"num_experts\": 2"),
             Catch::Contains("num_experts"));
}
