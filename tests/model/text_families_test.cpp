// Families of texts that differ from Llama: what they make of their keys, and of the tensors of
// their files.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/build/check.hpp"
#include "model/build/file_layout.hpp"
#include "model/families/families.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

using Json = nlohmann::ordered_json;

/// A small config.json of a family, with more keys.
Json config_of(const std::string& family, const std::string& more = "{}") {
  Json config = {{"model_type", family},    {"num_hidden_layers", 3},   {"hidden_size", 64},
                 {"intermediate_size", 96}, {"num_attention_heads", 4}, {"num_key_value_heads", 2},
                 {"head_dim", 16},          {"vocab_size", 300}};
  const Json changes = Json::parse(more);
  for (const auto& member : changes.items()) config[member.key()] = member.value();
  return config;
}

Model build_json(const Json& config) {
  return build_family(ConfigJson::parse(config.dump(), "config.json"), {.tokens = 8});
}
Model build(const std::string& family, const std::string& more = "{}") {
  return build_json(config_of(family, more));
}

std::string refusal(const std::string& family, const std::string& more) {
  return complaint_of([&] { build(family, more); });
}

template <class T>
std::vector<T> operators_of(const Layer& layer) {
  std::vector<T> found;
  for (const Operator& op : layer.operators.operators) {
    if (const auto* one = op.as<T>()) found.push_back(*one);
  }
  return found;
}

/// What the blocks attend with.
std::vector<op::SelfAttention> attention_of(const Model& model) {
  std::vector<op::SelfAttention> all;
  for (const Layer& layer : model.layers) {
    for (const auto& one : operators_of<op::SelfAttention>(layer)) all.push_back(one);
  }
  return all;
}

std::vector<std::int64_t> windows_of(const Model& model) {
  std::vector<std::int64_t> windows;
  for (const op::SelfAttention& attention : attention_of(model))
    windows.push_back(attention.window);
  return windows;
}

/// The rotary positions of each block; nothing where its heads do not turn.
std::vector<std::optional<RotaryForm>> rotary_of_blocks(const Model& model) {
  std::vector<std::optional<RotaryForm>> all;
  for (std::size_t l = 1; l + 1 < model.layers.size(); ++l) {
    const std::vector<op::Rotary> found = operators_of<op::Rotary>(model.layers[l]);
    all.push_back(found.empty() ? std::nullopt : std::optional(found.front().form));
  }
  return all;
}

std::vector<std::string> names_of(const Layer& layer) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : layer.parameters) names.push_back(spec.name);
  return names;
}

bool has_name(const Layer& layer, const std::string& end) {
  const std::vector<std::string> names = names_of(layer);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name.ends_with(end); });
}

void check_yarn(const std::string& keys, const std::vector<double>& frequencies, double factor) {
  CAPTURE(keys);
  const std::string more = fmt::format(
      R"({{"max_position_embeddings": 256, "rope_theta": 100.0, "rope_scaling": {{"rope_type": "yarn", {}}}}})",
      keys);
  const RotaryForm form = *rotary_of_blocks(build("llama", more)).front();
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    CHECK(rotary_frequency(form, static_cast<std::int64_t>(i)) ==
          Approx(frequencies[i]).epsilon(2e-7));
  }
  CHECK(form.attention_factor == Approx(factor).epsilon(1e-12));
}

TEST_CASE("YaRN has the frequencies and factors that transformers 5.23 computes",
          "[text_families]") {
  const std::vector<double> eight = {1.0,          0.46393159,   0.205548048,   0.0844682679,
                                     0.0300000012, 0.0070292661, 0.00395284733, 0.00222284929};
  check_yarn(R"("factor": 4.0, "original_max_position_embeddings": 64)",
             {1.0, 0.477990121, 0.221359432, 0.0978053659, 0.0399999991, 0.0140585322,
              0.00790569466, 0.00444569858},
             1.138629436111989);
  check_yarn(
      R"("factor": 4.0, "original_max_position_embeddings": 64, "truncate": false, "beta_fast": 8, "beta_slow": 2)",
      {1.0, 0.460702717, 0.160589159, 0.0444569848, 0.0250000004, 0.0140585322, 0.00790569466,
       0.00444569858},
      1.138629436111989);
  check_yarn(R"("factor": 4.0)",
             {1.0, 0.502090454, 0.248464689, 0.120668955, 0.0571428537, 0.0261087008, 0.011293849,
              0.00444569858},
             1.138629436111989);
  check_yarn(
      R"("factor": 8.0, "original_max_position_embeddings": 64, "mscale": 0.707, "mscale_all_dim": 1.5)",
      eight, 0.8743062168703823);
  check_yarn(R"("factor": 8.0, "original_max_position_embeddings": 64, "attention_factor": 1.25)",
             eight, 1.25);
  check_yarn(
      R"("factor": 40.0, "original_max_position_embeddings": 4096, "beta_fast": 0, "beta_slow": 0)",
      {1.0, 0.562341332, 0.316227764, 0.177827939, 0.100000001, 0.0562341288, 0.0272181761,
       0.0128290169},
      1.3688879454113936);
}

TEST_CASE("YaRN is refused where no angles follow from its numbers", "[text_families]") {
  const auto refused = [](const std::string& keys) {
    return refusal("llama",
                   fmt::format(R"({{"rope_scaling": {{"rope_type": "yarn", {}}}}})", keys));
  };
  CHECK_THAT(refused(R"("factor": 4.0)"), Catch::Contains("max_position_embeddings: is missing"));
  CHECK_THAT(refused(R"("original_max_position_embeddings": 64)"),
             Catch::Contains("rope_scaling.factor: is missing"));
  CHECK_THAT(
      refused(
          R"("factor": 4.0, "original_max_position_embeddings": 64, "beta_fast": 1, "beta_slow": 2)"),
      Catch::Contains("rope_scaling: turns 2 to 1, with the base 10000"));
  CHECK_THAT(refused(R"("factor": 4.0, "original_max_position_embeddings": 64, "finetuned": true)"),
             Catch::Contains("rope_scaling.finetuned: is not known"));
}

TEST_CASE("layers of SmolLM3 turn and slide as its keys say", "[text_families]") {
  const auto turning = [](const std::string& more) {
    std::vector<bool> turns;
    for (const auto& form : rotary_of_blocks(build("smollm3", more)))
      turns.push_back(form.has_value());
    return turns;
  };
  CHECK(turning(R"({"num_hidden_layers": 5})") == std::vector<bool>{true, true, true, false, true});
  CHECK(turning(R"({"no_rope_layer_interval": 2})") == std::vector<bool>{true, false, true});
  CHECK(turning(R"({"no_rope_layers": [0, 0, 1, 1]})") == std::vector<bool>{false, false, true});
  CHECK(rotary_of_blocks(build("smollm3")).front()->theta == 2e6);
  CHECK_THAT(refusal("smollm3", R"({"no_rope_layers": [1]})"),
             Catch::Contains("no_rope_layers: no_rope_layers has 1 entries for 3 layers"));
  const auto windows = [](const std::string& keys) {
    return windows_of(build("smollm3", R"({"no_rope_layers": [1, 0, 1], )" + keys + "}"));
  };
  using Windows = std::vector<std::int64_t>;
  CHECK(windows(R"("use_sliding_window": true, "sliding_window": 5)") == Windows{0, 5, 0});
  CHECK(windows(R"("use_sliding_window": true)") == Windows{0, 0, 0});  // its class has no window
                                                                        // by default
  CHECK(windows(R"("use_sliding_window": false, "sliding_window": 5)") == Windows{0, 0, 0});
  CHECK(windows(R"("use_sliding_window": true, "sliding_window": 5,
                   "layer_types": ["sliding_attention", "full_attention", "full_attention"])") ==
        Windows{5, 0, 0});
  CHECK(build("smollm3").shared_parameters().size() == 1);
}

TEST_CASE("Granite scales embedding, scores, parts and logits", "[text_families]") {
  const Model model =
      build("granite", R"({"embedding_multiplier": 12.0, "attention_multiplier": 0.015625,
      "residual_multiplier": 0.22, "logits_scaling": 8.0, "attention_bias": true, "mlp_bias": true})");
  CHECK(operators_of<op::Scaling>(model.layers.front()).front().factor == 12.0);
  CHECK(attention_of(model).front().scale == 0.015625);
  const std::vector<op::Scaling> parts = operators_of<op::Scaling>(model.layers[1]);
  REQUIRE(parts.size() == 2);
  CHECK(parts.back().factor == 0.22);
  CHECK(operators_of<op::Scaling>(model.layers.back()).front().factor == 0.125);
  // What is scaled has its bias.
  for (const op::Addition& sum : operators_of<op::Addition>(model.layers[1])) CHECK_FALSE(sum.bias);
  const Model plain = build("granite");
  CHECK(attention_of(plain).front().scale == 1.0);
  for (const Layer& layer : plain.layers) CHECK(operators_of<op::Scaling>(layer).empty());
  for (const char* key :
       {"embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"}) {
    CHECK_THAT(refusal("granite", fmt::format(R"({{"{}": 0.0}})", key)),
               Catch::Contains(fmt::format("{}: is 0", key)));
  }
}

TEST_CASE("OLMo 2 normalises behind its parts, and all queries and all keys together",
          "[text_families]") {
  const Model model = build("olmo2", R"({"num_attention_heads": 8, "hidden_size": 128})");
  const Layer& block = model.layers[1];
  CHECK_FALSE(has_name(block, "input_layernorm.weight"));
  CHECK(has_name(block, "post_attention_layernorm.weight"));
  CHECK(has_name(block, "post_feedforward_layernorm.weight"));
  std::vector<std::int64_t> widths;
  for (const op::Norm& norm : operators_of<op::Norm>(block)) widths.push_back(norm.width);
  CHECK(widths == std::vector<std::int64_t>{128, 32, 128, 128});
  CHECK(operators_of<op::Norm>(block).front().form.epsilon == 1e-5F);
  // Each key head is of one member: no more members than these.
  CHECK(model.axis_size(ShardAxis::heads) == 2);
  CHECK(build("llama", R"({"num_attention_heads": 8, "hidden_size": 128})")
            .axis_size(ShardAxis::heads) == 8);
  CHECK(operators_of<op::Gather>(block).size() == 2);
  CHECK(operators_of<op::Take>(block).size() == 2);
}

/// The parts of each tensor of a file that parameters of a layer have lie one behind the other and
/// make up the whole.
void check_parts(const Layer& layer) {
  std::map<std::string, std::int64_t> next, whole;
  for (const ParameterSpec& spec : layer.parameters) {
    for_each_run(spec, {0, spec.size()}, [&](const LayoutRun& run) {
      INFO(spec.name);
      CHECK(run.theirs == next[file_name(spec)]);
      CHECK(run.stride == 1);
      next[file_name(spec)] += run.ours.size();
    });
    std::int64_t elements = 1;
    for (const std::int64_t size : file_shape(spec)) elements *= size;
    whole[file_name(spec)] = elements;
  }
  CHECK(next == whole);
}

TEST_CASE("the tensors of Phi-3's files are those of several parameters", "[text_families]") {
  const Model model = build("phi3", R"({"sliding_window": 5, "partial_rotary_factor": 0.75})");
  CHECK(windows_of(model) == std::vector<std::int64_t>{5, 5, 5});
  CHECK(rotary_of_blocks(model).front()->rotated == 12);
  const Layer& block = model.layers[1];
  check_parts(block);
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const ParameterSpec& spec : block.parameters) shapes[file_name(spec)] = file_shape(spec);
  CHECK(shapes.size() == 6);
  CHECK(shapes.at("model.layers.0.self_attn.qkv_proj.weight") ==
        std::vector<std::int64_t>{64 + 32 + 32, 64});
  CHECK(shapes.at("model.layers.0.mlp.gate_up_proj.weight") == std::vector<std::int64_t>{192, 64});
  // A run in the middle of the keys, which begin behind 64 rows of queries.
  const auto keys =
      std::find_if(block.parameters.begin(), block.parameters.end(),
                   [](const ParameterSpec& spec) { return spec.name.ends_with("k_proj.weight"); });
  for_each_run(*keys, {70, 90}, [](const LayoutRun& run) { CHECK(run.theirs == 64 * 64 + 70); });
}

TEST_CASE("Phi-3's positions that change with the length are refused", "[text_families]") {
  CHECK_THAT(
      refusal(
          "phi3",
          R"({"rope_scaling": {"type": "longrope", "long_factor": [1.0], "short_factor": [1.0]}})"),
      Catch::Contains(
          "rope_scaling: rotary positions of type \"longrope\" (its frequencies differ between"));
  CHECK_THAT(
      refusal("phi3",
              R"({"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}})"),
      Catch::Contains("rope_parameters: rotary positions of type \"linear\""));
  CHECK_THAT(refusal("phi3", R"({"partial_rotary_factor": 0.2})"),
             Catch::Contains("3 columns of each head turn"));
  CHECK(rotary_of_blocks(
            build("phi3",
                  R"({"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}})"))
            .front()
            ->rotated == 8);
}

TEST_CASE(
    "every other layer of Gemma 2 sees a window, and its scores and logits are held within caps",
    "[text_families]") {
  const auto logit_cap = [](const Model& model) {
    return operators_of<op::Loss>(model.layers.back()).front().cap;
  };
  const Model model = build(
      "gemma2", R"({"num_hidden_layers": 4, "sliding_window": 5, "query_pre_attn_scalar": 100})");
  CHECK(windows_of(model) == std::vector<std::int64_t>{5, 0, 5, 0});
  CHECK(attention_of(model).front().scale == Approx(0.1));
  CHECK(attention_of(model).front().cap == 50.0);
  CHECK(logit_cap(model) == 30.0);
  CHECK_FALSE(has_name(model.layers[1], "self_attn.q_norm.weight"));
  CHECK(has_name(model.layers[1], "post_feedforward_layernorm.weight"));
  for (const op::Norm& norm : operators_of<op::Norm>(model.layers[1])) CHECK(norm.form.one_plus);
  const Model plain =
      build("gemma2", R"({"attn_logit_softcapping": null, "final_logit_softcapping": null})");
  CHECK(attention_of(plain).front().cap == 0.0);
  CHECK(logit_cap(plain) == 0.0);
  CHECK_THAT(refusal("gemma2", R"({"attn_logit_softcapping": 0.0})"),
             Catch::Contains("attn_logit_softcapping: is 0 (nothing fits within it"));
}

TEST_CASE("layers of Gemma 3 see a window or all, each kind with its positions",
          "[text_families]") {
  const Model model = build(
      "gemma3_text", R"({"num_hidden_layers": 4, "sliding_window_pattern": 3, "sliding_window": 5,
      "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "query_pre_attn_scalar": 100})");
  CHECK(windows_of(model) == std::vector<std::int64_t>{5, 5, 0, 5});
  CHECK(attention_of(model).front().scale == Approx(0.1));
  const auto rotary = rotary_of_blocks(model);
  CHECK(rotary[0]->theta == 1e4);
  CHECK(rotary[0]->factor == 1.0);
  CHECK(rotary[2]->theta == 1e6);
  CHECK(rotary[2]->factor == 8.0);
  for (const char* name :
       {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
        "post_feedforward_layernorm", "self_attn.q_norm", "self_attn.k_norm"}) {
    CHECK(has_name(model.layers[1], std::string(name) + ".weight"));
  }
  for (const op::Norm& norm : operators_of<op::Norm>(model.layers[1])) CHECK(norm.form.one_plus);
  const auto newer = rotary_of_blocks(build("gemma3_text", R"({"layer_types":
      ["full_attention", "sliding_attention", "sliding_attention"], "sliding_window": 5, "rope_parameters":
      {"full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5e5},
       "sliding_attention": {"rope_theta": 2e4}}})"));
  CHECK(newer[0]->theta == 5e5);
  CHECK(newer[0]->factor == 2.0);
  CHECK(newer[1]->theta == 2e4);
  CHECK(windows_of(build("gemma3_text", R"({"num_hidden_layers": 6})")) ==
        std::vector<std::int64_t>{4096, 4096, 4096, 4096, 4096, 0});
  CHECK(attention_of(model).front().cap == 0.0);
  CHECK(attention_of(build("gemma3_text", R"({"attn_logit_softcapping": 40.0})")).front().cap ==
        40.0);
  CHECK_THAT(refusal("gemma3_text", R"({"final_logit_softcapping": -30.0})"),
             Catch::Contains("final_logit_softcapping: is -30"));
  CHECK_THAT(refusal("gemma3_text", R"({"sliding_window": null})"),
             Catch::Contains("sliding_window: is null"));
  CHECK_THAT(refusal("gemma3_text", R"({"use_bidirectional_attention": true})"),
             Catch::Contains("attention is causal"));
  const auto both = rotary_of_blocks(build("gemma3_text", R"({"layer_types": ["full_attention"],
      "num_hidden_layers": 1, "rope_parameters": {"full_attention": {"rope_theta": 5e5}},
      "rope_theta": 1e6})"));
  CHECK(both[0]->theta == 5e5);  // as in transformers
}

TEST_CASE("Qwen3's experts are counted in either spelling", "[text_families]") {
  const std::string keys =
      R"("num_experts_per_tok": 2, "moe_intermediate_size": 24, "mlp_only_layers": [1])";
  const Model older = build("qwen3_moe", R"({"num_experts": 6, )" + keys + "}");
  const Model newer = build("qwen3_moe", R"({"num_local_experts": 6, )" + keys + "}");
  std::vector<std::int64_t> experts;
  for (const Layer& layer : older.layers) experts.push_back(layer.num_experts());
  CHECK(experts == std::vector<std::int64_t>{0, 0, 6, 0, 0, 6, 0});
  for (std::size_t l = 0; l < older.layers.size(); ++l)
    CHECK(older.layers[l].signature == newer.layers[l].signature);
  CHECK(has_name(older.layers[2], "mlp.experts.5.gate_proj.weight"));
  CHECK(has_name(older.layers[1], "self_attn.q_norm.weight"));
  CHECK(has_name(older.layers[3], "mlp.gate_proj.weight"));
  CHECK_THAT(refusal("qwen3_moe",
                     R"({"num_experts": 6, "num_local_experts": 8, "num_experts_per_tok": 2})"),
             Catch::Contains("num_experts: is 6 (num_local_experts says so)"));
  CHECK(windows_of(build("qwen3_moe",
                         R"({"num_experts": 6, "num_experts_per_tok": 2, "use_sliding_window": true,
      "sliding_window": 5})")) == std::vector<std::int64_t>{5, 5, 5});
}

TEST_CASE("of a model with other parts the text model is described", "[text_families]") {
  const Json text = config_of("gemma3_text", R"({"sliding_window": 5})");
  const Json whole = {
      {"model_type", "gemma3"}, {"text_config", text}, {"vision_config", {{"hidden_size", 1152}}}};
  const Model model = build_json(whole), alone = build_json(text);
  CHECK(model.name == "gemma3_text");
  CHECK(model.num_parameters() == alone.num_parameters());
  // What files of this family leave out is what its class has.
  const Json sparse = {{"model_type", "gemma3"},
                       {"text_config",
                        {{"model_type", "gemma3_text"},
                         {"hidden_size", 2560},
                         {"intermediate_size", 10240},
                         {"num_hidden_layers", 34},
                         {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                         {"sliding_window", 1024}}}};
  CHECK(build_json(sparse).num_parameters() == 3880263168);
  Json unknown = whole;
  unknown["text_config"]["model_type"] = "mamba";
  CHECK_THAT(complaint_of([&] { build_json(unknown); }),
             Catch::Contains("text_config.model_type: is \"mamba\""));
  unknown = whole;
  unknown["text_config"]["residual_multiplier"] = 0.5;
  CHECK_THAT(complaint_of([&] { build_json(unknown); }),
             Catch::Contains("text_config.residual_multiplier: is not known"));
  unknown.erase("text_config");
  CHECK_THAT(complaint_of([&] { build_json(unknown); }),
             Catch::Contains("model_type: is \"gemma3\""));
}

}  // namespace
}  // namespace pptrain
