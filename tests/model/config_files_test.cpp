// What families make of a config.json is what transformers' classes make of it: of files with all
// their keys, of files with a key left out, and of values that a class passes over.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "data/files.hpp"
#include "model/families/families.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

using Json = nlohmann::ordered_json;

Model build(const Json& config) {
  return build_family(ConfigJson::parse(config.dump(), "config.json"),
                      {.tokens = 8, .source_tokens = 8});
}

std::string refusal(const Json& config) {
  return complaint_of([&] { build(config); });
}

std::string described(const Operator& op) {
  if (const auto* norm = op.as<op::Norm>())
    return fmt::format("{} {}", norm->form.epsilon, norm->form.one_plus);
  if (const auto* norm = op.as<op::BatchNorm>()) return fmt::format("{}", norm->epsilon);
  if (const auto* scaling = op.as<op::Scaling>()) return fmt::format("{}", scaling->factor);
  if (const auto* activate = op.as<op::Activate>())
    return fmt::format("{}", static_cast<int>(activate->activation));
  if (const auto* gate = op.as<op::Gate>())
    return fmt::format("{}", static_cast<int>(gate->activation));
  if (const auto* rotary = op.as<op::Rotary>()) {
    const RotaryForm& f = rotary->form;
    return fmt::format("{} {} {} {}", f.theta, f.rotated, static_cast<int>(f.scaling), f.factor);
  }
  if (const auto* a = op.as<op::SelfAttention>()) {
    return fmt::format("{} {} {} {} {} {} {} {}", a->heads, a->key_heads, a->head_size, a->scale,
                       a->window, a->causal, a->buckets.count, a->buckets.largest);
  }
  if (const auto* router = op.as<op::Router>())
    return fmt::format("{} {}", router->form.chosen, router->normalised);
  return "";
}

/// All of a model that a key of config.json could change.
std::vector<std::string> described(const Model& model) {
  std::vector<std::string> lines = {
      fmt::format("{} {} {} {}", model.sample.classes, model.sample.source.first_token,
                  model.sample.source.padding, model.sample.source.length)};
  for (const Layer& layer : model.layers) {
    lines.push_back(layer.name + " " + layer.signature);
    for (const ParameterSpec& spec : layer.parameters) {
      lines.push_back(
          fmt::format("{} {} {}", spec.name, fmt::join(spec.shape, "x"), spec.deviation));
    }
    for (const Operator& op : layer.operators.operators)
      lines.push_back(fmt::format("{} {}", op.kind.index(), described(op)));
  }
  return lines;
}

Json read(const std::string& name) {
  std::ifstream file(test_data("configs/" + name));
  return Json::parse(file);
}

/// The file of a class with keys of its own, small.
Json small(const std::string& family, const std::string& more = "{}") {
  Json config = read("transformers-5.23.0.json").at(family);
  const Json changes = Json::parse(more);
  for (const auto& [key, size] :
       std::vector<std::pair<std::string, int>>{{"num_hidden_layers", 2},
                                                {"hidden_size", 64},
                                                {"intermediate_size", 96},
                                                {"num_attention_heads", 4},
                                                {"num_key_value_heads", 2},
                                                {"head_dim", 16},
                                                {"vocab_size", 300}}) {
    if (config.contains(key) && !config[key].is_null()) config[key] = size;
  }
  config.erase("layer_types");
  for (const auto& member : changes.items()) config[member.key()] = member.value();
  return config;
}

std::vector<std::int64_t> windows_of(const Model& model) {
  std::vector<std::int64_t> windows;
  for (const Layer& layer : model.layers) {
    for (const Operator& op : layer.operators.operators) {
      if (const auto* attention = op.as<op::SelfAttention>()) windows.push_back(attention->window);
    }
  }
  return windows;
}

std::vector<Activation> activations_of(const Model& model) {
  std::vector<Activation> all;
  for (const Layer& layer : model.layers) {
    for (const Operator& op : layer.operators.operators) {
      if (const auto* activate = op.as<op::Activate>()) all.push_back(activate->activation);
      if (const auto* gate = op.as<op::Gate>()) all.push_back(gate->activation);
    }
  }
  return all;
}

TEST_CASE("files that transformers writes with all keys, and published ones, are taken",
          "[config_files]") {
  int count = 0;
  for (const char* name :
       {"transformers-5.23.0.json", "transformers-4.57.1.json", "published.json"}) {
    const Json configs = read(name);
    for (const auto& member : configs.items()) {
      CAPTURE(name, member.key());
      CHECK(refusal(member.value()) == "nothing was refused");
      ++count;
    }
  }
  CHECK(count == 21 + 21 + 43);
}

TEST_CASE("published models have the parameters that transformers counts", "[config_files]") {
  const Json configs = read("published.json"), counts = read("published-parameters.json");
  CHECK(counts.size() == configs.size());
  for (const auto& member : configs.items()) {
    CAPTURE(member.key());
    CHECK(build(member.value()).num_parameters() == counts.at(member.key()).get<std::int64_t>());
  }
}

TEST_CASE("a key that is left out has the value of transformers' class, or is missed",
          "[config_files]") {
  for (const char* name : {"transformers-5.23.0.json", "transformers-4.57.1.json"}) {
    const Json configs = read(name);
    for (const auto& member : configs.items()) {
      const std::vector<std::string> whole = described(build(member.value()));
      for (const auto& key : member.value().items()) {
        Json less = member.value();
        less.erase(key.key());
        CAPTURE(name, member.key(), key.key());
        const std::string complaint = refusal(less);
        if (complaint.find(": is missing (") != std::string::npos) continue;
        CHECK(complaint == "nothing was refused");
        CHECK(described(build(less)) == whole);
      }
    }
  }
}

TEST_CASE("values of keys that are neutral pass, others do not", "[config_files]") {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, Json>>{{"use_mrope", true},
                                                 {"rope_interleaved", true},
                                                 {"is_encoder_decoder", true},
                                                 {"is_decoder", true},
                                                 {"add_cross_attention", true},
                                                 {"pruned_heads", {{"0", {1, 2}}}},
                                                 {"partial_rotary_factor", 0.5},
                                                 {"output_router_logits", true},
                                                 {"quantization_config", Json::object()},
                                                 {"residual_multiplier", 0.5}}) {
    Json config = small("llama");
    config[key] = value;
    CAPTURE(key);
    CHECK_THAT(refusal(config), Catch::Contains("config.json:1: " + key));
  }
  Json config = small("llama");
  config["use_mrope"] = true;
  CHECK(refusal(config) ==
        "config.json:1: use_mrope: is true (a position is one number); false is supported: choose "
        "a model with that");
  config = small("llama");
  config["rope_parameters"]["partial_rotary_factor"] = 1.0;
  CHECK(refusal(config) == "nothing was refused");
  config["rope_parameters"]["partial_rotary_factor"] = 0.5;
  CHECK_THAT(refusal(config), Catch::Contains("rope_parameters.partial_rotary_factor: is 0.5"));
  config = small("llama", R"({"layer_types": ["full_attention", "full_attention"]})");
  CHECK(described(build(config)) == described(build(small("llama"))));
  config = small("llama", R"({"layer_types": ["full_attention", "sliding_attention"]})");
  CHECK_THAT(refusal(config),
             Catch::Contains("layer_types: layer 1 is of sliding_attention, without a window"));
}

TEST_CASE("key-value heads that are left out are as many as the class has by default",
          "[config_files]") {
  const std::map<std::string, std::int64_t> defaults = {
      {"mistral", 8}, {"mixtral", 8},   {"qwen2", 32},  {"qwen3", 32}, {"qwen2_moe", 16},
      {"gemma", 16},  {"qwen3_moe", 4}, {"smollm3", 4}, {"gemma2", 4}, {"gemma3_text", 4}};
  for (const auto& [family, heads] : defaults) {
    CAPTURE(family);
    Json config = small(family, R"({"num_attention_heads": 64, "hidden_size": 128})");
    config["num_key_value_heads"] = heads;
    const auto said = described(build(config));
    config.erase("num_key_value_heads");
    CHECK(described(build(config)) == said);
    config["num_attention_heads"] = 3;
    CHECK_THAT(
        refusal(config),
        Catch::Contains("key-value heads do not divide 3 heads (that many are the default of "
                        "transformers' class where the key is left out)"));
    config["num_key_value_heads"] = nullptr;
    if (family.starts_with("gemma") || family.ends_with("_moe")) {
      CHECK_THAT(refusal(config), Catch::Contains("num_key_value_heads: is null"));
    } else {
      const auto as_many = described(build(config));
      config["num_key_value_heads"] = 3;
      CHECK(described(build(config)) == as_many);
    }
  }
  Json llama = small("llama");
  llama["num_key_value_heads"] = 4;
  const auto said = described(build(llama));
  llama.erase("num_key_value_heads");
  CHECK(described(build(llama)) == said);
}

TEST_CASE("heads whose size is left out have that of the class", "[config_files]") {
  for (const auto& [family, size] : std::map<std::string, int>{
           {"gemma", 256}, {"qwen3", 128}, {"gemma2", 256}, {"gemma3_text", 256}}) {
    Json config = small(family, fmt::format(R"({{"head_dim": {}}})", size));
    const auto said = described(build(config));
    config.erase("head_dim");
    CHECK(described(build(config)) == said);
    config["head_dim"] = nullptr;
    CHECK_THAT(refusal(config), Catch::Contains("head_dim: is null"));
  }
}

TEST_CASE("Gemma's activation is followed where all versions of transformers agree on it",
          "[config_files]") {
  const auto of = [](const std::string& keys) { return small("gemma", keys); };
  const auto is = [&](const std::string& keys, Activation wanted) {
    CAPTURE(keys);
    const std::vector<Activation> found = activations_of(build(of(keys)));
    CHECK(found == std::vector<Activation>(2, wanted));
  };
  is("{}", Activation::gelu_tanh);
  is(R"({"hidden_act": "gelu"})", Activation::gelu_tanh);
  is(R"({"hidden_act": "gelu", "hidden_activation": "gelu_pytorch_tanh"})", Activation::gelu_tanh);
  is(R"({"hidden_act": "gelu_new", "hidden_activation": null})", Activation::gelu_tanh);
  is(R"({"hidden_act": "silu", "hidden_activation": "silu"})", Activation::silu);
  CHECK_THAT(refusal(of(R"({"hidden_act": "silu"})")),
             Catch::Contains("hidden_act: hidden_act is \"silu\" and hidden_activation "
                             "\"gelu_pytorch_tanh\" (versions of "
                             "transformers differ"));
  CHECK_THAT(refusal(of(R"({"hidden_activation": "relu"})")),
             Catch::Contains("hidden_activation: hidden_act is"));
  CHECK_THAT(refusal(of(R"({"hidden_act": "gelu", "hidden_activation": "gelu"})")),
             Catch::Contains("differ in which"));
  CHECK_THAT(refusal(of(R"({"hidden_act": "tanh", "hidden_activation": "silu"})")),
             Catch::Contains("\"tanh\" is not"));
}

TEST_CASE(
    "a ResNet's own activation is behind sums and the first convolution, and ReLU within blocks",
    "[config_files]") {
  for (const std::string type : {"bottleneck", "basic"}) {
    Json config = small("resnet", R"({"hidden_act": "silu", "depths": [2], "hidden_sizes": [64]})");
    config["layer_type"] = type;
    const Activation own = Activation::silu, relu = Activation::relu;
    CHECK(activations_of(build(config)) ==
          (type == "basic" ? std::vector<Activation>{own, relu, own, relu, own}
                           : std::vector<Activation>{own, relu, relu, own, relu, relu, own}));
  }
}

TEST_CASE("layers slide where transformers' class lets them", "[config_files]") {
  using Windows = std::vector<std::int64_t>;
  const std::string full = R"("layer_types": ["full_attention", "full_attention"])";
  const std::string sliding = R"("layer_types": ["sliding_attention", "sliding_attention"])";
  const std::string mixed = R"("layer_types": ["full_attention", "sliding_attention"])";
  const auto windows = [](const std::string& family, const std::string& keys) {
    return windows_of(build(small(family, "{" + keys + "}")));
  };
  const auto refused = [](const std::string& family, const std::string& keys) {
    return refusal(small(family, "{" + keys + "}"));
  };
  CHECK(windows("mistral", R"("sliding_window": 5)") == Windows{5, 5});
  CHECK(windows("mistral", R"("sliding_window": null)") == Windows{0, 0});
  CHECK(windows("mistral", R"("sliding_window": 5,)" + sliding) == Windows{5, 5});
  CHECK(windows("mistral", R"("sliding_window": null,)" + full) == Windows{0, 0});
  CHECK_THAT(refused("mistral", R"("sliding_window": 5,)" + mixed),
             Catch::Contains("AutoModel takes the file for"));
  CHECK_THAT(refused("mistral", R"("sliding_window": 5,)" + full),
             Catch::Contains("AutoModel takes the file for"));
  CHECK_THAT(refused("mistral", R"("sliding_window": null,)" + sliding),
             Catch::Contains("without a window"));
  CHECK(windows("mixtral", R"("sliding_window": 5,)" + mixed) == Windows{5, 5});
  CHECK(windows("mixtral", mixed) == Windows{0, 0});
  for (const std::string family : {"qwen2", "qwen3"}) {
    const std::string on = R"("use_sliding_window": true, "max_window_layers": 1)";
    CHECK(windows(family, on + R"(, "sliding_window": 5)") == Windows{0, 5});
    CHECK(windows(family, on + R"(, "sliding_window": null)") == Windows{0, 0});
    CHECK(windows(family, on + R"(, "sliding_window": 5,)" + full) == Windows{0, 0});
    CHECK(windows(family, R"("use_sliding_window": false, "sliding_window": 5)") == Windows{0, 0});
    CHECK_THAT(refused(family, on + R"(, "sliding_window": null,)" + mixed),
               Catch::Contains("without a window"));
    CHECK_THAT(refused(family, R"("use_sliding_window": false, "sliding_window": 5,)" + mixed),
               Catch::Contains("without a window"));
    CHECK_THAT(refused(family, on + R"(, "sliding_window": 0)"),
               Catch::Contains("sliding_window: must be"));
  }
  CHECK_THAT(refused("qwen2_moe", R"("use_sliding_window": true, "sliding_window": 5)"),
             Catch::Contains("say it by layer_types"));
}

TEST_CASE("a part of a head that turns is read in either spelling", "[config_files]") {
  Json config = small("gpt_neox", R"({"hidden_size": 64, "num_attention_heads": 4})");
  const auto rotated = [](const Json& of) {
    for (const Operator& op : build(of).layers[1].operators.operators) {
      if (const auto* rotary = op.as<op::Rotary>()) return rotary->form.rotated;
    }
    return std::int64_t{-1};
  };
  CHECK(rotated(config) == 4);
  config["rotary_pct"] = 0.25;
  CHECK(rotated(config) == 4);
  config["rotary_pct"] = 0.5;
  CHECK_THAT(refusal(config),
             Catch::Contains("rotary_pct: is 0.5 (rope_parameters.partial_rotary_factor is 0.25)"));
  config["rope_parameters"].erase("partial_rotary_factor");
  CHECK(rotated(config) == 8);
  config["rotary_pct"] = 1e300;
  CHECK_THAT(refusal(config), Catch::Contains("of each head turns (a part is from 0 to 1)"));
}

TEST_CASE("classes are counted once", "[config_files]") {
  for (const std::string family : {"vit", "resnet"}) {
    Json config = small(family);
    CHECK(build(config).sample.classes == 2);
    config["num_labels"] = 3;
    CHECK_THAT(refusal(config), Catch::Contains("num_labels: is 3 (id2label names 2 classes)"));
    config.erase("id2label");
    CHECK(build(config).sample.classes == 3);
  }
}

TEST_CASE("sizes that no memory holds or whose products overflow are refused at once",
          "[config_files]") {
  const Json configs = read("transformers-5.23.0.json");
  for (const auto& member : configs.items()) {
    for (const auto& key : member.value().items()) {
      if (!key.value().is_number_integer() || key.key().ends_with("token_id")) continue;
      for (const std::int64_t huge :
           {std::int64_t{2147483647}, std::numeric_limits<std::int64_t>::max()}) {
        Json config = member.value();
        config[key.key()] = huge;
        CAPTURE(member.key(), key.key(), huge);
        const std::string complaint = refusal(config);
        CHECK((complaint == "nothing was refused" || complaint.starts_with("config.json:1: ") ||
               complaint.starts_with("config.json: ")));
      }
    }
  }
  const auto refused = [](const std::string& family, const std::string& keys) {
    return refusal(small(family, keys));
  };
  CHECK_THAT(
      refused("llama", R"({"num_hidden_layers": 65537})"),
      Catch::Contains("num_hidden_layers: must be a whole number from 1 to 65536 (it is 65537)"));
  CHECK_THAT(refused("resnet", R"({"depths": [40000, 40000], "hidden_sizes": [64, 64]})"),
             Catch::Contains("at most 65536 blocks"));
  CHECK_THAT(refused("resnet", R"({"depths": [9223372036854775807], "hidden_sizes": [64]})"),
             Catch::Contains("at most 65536 blocks"));
  CHECK_THAT(refused("mixtral", R"({"num_local_experts": 60000, "num_hidden_layers": 60000})"),
             Catch::Contains("60000 experts in each of 60000 layers"));
  CHECK_THAT(
      refused(
          "qwen2_moe",
          R"({"num_experts": 8192, "moe_intermediate_size": 16777216, "hidden_size": 1048576})"),
      Catch::Contains("describes a model of 8.") &&
          Catch::Contains("parameters (at most 1e+15 can be planned)"));
  const Json vgg = {{"model_type", "vgg"},
                    {"image_size", 16384},
                    {"cfg", {1048576}},
                    {"hidden", {16777216}},
                    {"num_labels", 10}};
  CHECK_THAT(refusal(vgg), Catch::Contains("at most 2147483648 numbers are taken"));
}

}  // namespace
}  // namespace pptrain
