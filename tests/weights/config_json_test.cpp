#include "weights/config_json.hpp"

#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

const std::string sound = R"({
  "architectures": ["LlamaForCausalLM"],
  "model_type": "llama",
  "hidden_size": 64, "num_key_value_heads": null,
  "rms_norm_eps": 1e-05,
  "tie_word_embeddings": false,
  "layer_types": ["full_attention", "sliding_attention"],
  "mlp_only_layers": [0, 3],
  "rope_parameters": {
    "rope_theta": 10000,
    "factor": 8.0
  },
  "torch_dtype": "float32"
}
)";

ConfigJson parse(const std::string& text) { return ConfigJson::parse(text, "m/config.json"); }

template <class Action>
std::string refused(const std::string& text, Action action) {
  return complaint_of([&] { action(parse(text)); });
}

TEST_CASE("keys of config.json are read by type", "[config_json]") {
  const ConfigJson config = parse(sound);
  CHECK(config.model_type({"gpt2", "llama"}) == "llama");
  CHECK(config.size("hidden_size") == 64);
  CHECK(config.integer("hidden_size", 3) == 64);
  CHECK(config.integer("head_dim", -3) == -3);
  CHECK(config.number("rms_norm_eps") == 1e-5);
  CHECK(config.number("hidden_size") == 64.0);
  CHECK_FALSE(config.boolean("tie_word_embeddings"));
  CHECK(config.boolean("attention_bias", true));
  CHECK(config.text("hidden_act", "silu") == "silu");
  CHECK(config.texts("layer_types") ==
        std::vector<std::string>{"full_attention", "sliding_attention"});
  CHECK(config.integers("mlp_only_layers") == std::vector<std::int64_t>{0, 3});
  CHECK(config.texts("others").empty());
  CHECK(config.object("rope_parameters").number("factor") == 8.0);
}

TEST_CASE("null stands for a key that is left out, and can be told from one", "[config_json]") {
  const ConfigJson config = parse(sound);
  CHECK(config.size("num_key_value_heads", 4) == 4);
  CHECK_FALSE(config.has("num_key_value_heads"));
  CHECK(config.is_null("num_key_value_heads"));
  CHECK_FALSE(config.is_null("head_dim"));
  CHECK_FALSE(config.has("head_dim"));
  CHECK(config.has("hidden_size"));
  CHECK(complaint_of([&] { config.size("num_key_value_heads"); }) ==
        "m/config.json:4: num_key_value_heads: is null (the model cannot be built without it); add "
        "the key, as "
        "save_pretrained writes it");
  CHECK(complaint_of([&] {
          config.size("head_dim");
        }).starts_with("m/config.json: head_dim: is missing"));
}

TEST_CASE("values of another type are refused with the line", "[config_json]") {
  const ConfigJson config = parse(sound);
  const auto refusal = [](auto action) { return complaint_of(action); };
  CHECK(refusal([&] { config.integer("rms_norm_eps"); }) ==
        "m/config.json:5: rms_norm_eps: must be a whole number (it is 1e-05); correct the value");
  CHECK_THAT(refusal([&] { config.number("model_type"); }),
             Catch::Contains(":3: model_type: must be a number (it is \"llama\")"));
  CHECK_THAT(refusal([&] { config.boolean("hidden_size"); }),
             Catch::Contains(":4: hidden_size: must be true or false"));
  CHECK_THAT(refusal([&] { config.text("layer_types"); }),
             Catch::Contains(":7: layer_types: must be text in quotes (it is a list of 2)"));
  CHECK_THAT(refusal([&] { config.integers("layer_types"); }),
             Catch::Contains("must be a list of whole numbers"));
  CHECK_THAT(refusal([&] { config.texts("mlp_only_layers"); }),
             Catch::Contains("must be a list of texts"));
  CHECK_THAT(refusal([&] { config.object("hidden_size"); }), Catch::Contains("must be an object"));
  CHECK_THAT(refusal([&] { config.object("rope_parameters").text("factor"); }),
             Catch::Contains("m/config.json:11: rope_parameters.factor: must be text"));
  for (const char* wrong : {"0", "-1", "2147483648", "9223372036854775808", "64.0", "\"64\""}) {
    CHECK_THAT(
        refused(replaced(sound, "64", wrong), [](const ConfigJson& c) { c.size("hidden_size"); }),
        Catch::Contains("hidden_size: must be a whole number"));
  }
  CHECK_THAT(refused(replaced(sound, "1e-05", "1e999"), [](const ConfigJson&) {}),
             Catch::Contains("m/config.json:5: is no JSON"));
}

TEST_CASE("keys that nobody asked for are refused", "[config_json]") {
  const auto ask_all = [](const ConfigJson& config) {
    for (const char* key : {"hidden_size", "num_key_value_heads", "head_dim"})
      config.integer(key, 1);
    config.number("rms_norm_eps");
    config.boolean("tie_word_embeddings");
    config.texts("layer_types");
    config.integers("mlp_only_layers");
    const ConfigJson rope = config.object("rope_parameters");
    rope.number("rope_theta");
    rope.number("factor", 1.0);
  };
  const auto finish = [&](const std::string& text, const std::vector<std::string>& harmless = {}) {
    return refused(text, [&](const ConfigJson& config) {
      ask_all(config);
      config.finish(harmless);
    });
  };
  CHECK(finish(sound) == "nothing was refused");
  CHECK(finish(
            replaced(sound, "\"hidden_size\"", "\"residual_multiplier\": 0.5,\n\"hidden_size\"")) ==
        "m/config.json:4: residual_multiplier: is not known (the key may change what the model "
        "computes); choose a model "
        "without it, or remove it if it has no effect");
  CHECK(finish(replaced(sound, "\"hidden_size\"", "\"new\": 0.5, \"hidden_size\""), {"new"}) ==
        "nothing was refused");
  CHECK(finish(replaced(sound, "\"hidden_size\"", "\"new\": null, \"hidden_size\"")) ==
        "nothing was refused");
  CHECK_THAT(finish(replaced(sound, "\"hidden_size\"",
                             "\"head_dims\": 16, \"qk_norms\": false, \"hidden_size\"")),
             Catch::Contains("head_dims: is not known") &&
                 Catch::Contains("not known either: qk_norms") &&
                 Catch::Contains("did you mean \"head_dim\"?"));
  CHECK_THAT(finish(replaced(sound, "\"factor\"", "\"mscale\": 1,\n \"factor\"")),
             Catch::Contains("m/config.json:11: rope_parameters.mscale: is not known"));
  // A key that is harmless at the top says nothing of an object.
  CHECK_THAT(finish(replaced(sound, "\"factor\"", "\"top_k\": 1, \"factor\"")),
             Catch::Contains("rope_parameters.top_k"));
  CHECK_THAT(refused(sound, [](const ConfigJson& config) { config.finish(); }),
             Catch::Contains("m/config.json:4: hidden_size: is not known") &&
                 Catch::Contains("rope_parameters"));
}

TEST_CASE("a key may be held to one value", "[config_json]") {
  const ConfigJson config = parse(sound);
  config.only("tie_word_embeddings", false, "");
  config.only("hidden_size", 64, "");
  config.only("hidden_size", 64.0, "");
  config.only("model_type", "llama", "");
  config.only("attention_dropout", 0.0, "");
  config.only("num_key_value_heads", 7, "");
  CHECK(complaint_of([&] { config.only("rms_norm_eps", 0, "no dropout is drawn"); }) ==
        "m/config.json:5: rms_norm_eps: is 1e-05 (no dropout is drawn); 0 is supported: choose a "
        "model with that");
  CHECK_THAT(complaint_of([&] { config.only("tie_word_embeddings", true, "r"); }),
             Catch::Contains("is false"));
  CHECK_THAT(complaint_of([&] { config.only("model_type", "gpt2", "r"); }),
             Catch::Contains("\"gpt2\" is supported"));
  CHECK_THAT(complaint_of([&] { config.only("hidden_size", "64", "r"); }),
             Catch::Contains("is 64"));
  CHECK_THAT(complaint_of([&] { config.only("layer_types", 2, "r"); }),
             Catch::Contains("is a list of 2"));
}

TEST_CASE("an unknown family is answered with those that are known", "[config_json]") {
  CHECK(refused(sound,
                [](const ConfigJson& config) {
                  config.model_type({"bloom", "opt"});
                }) ==
        "m/config.json:3: model_type: is \"llama\" (known families are bloom, opt); give a model "
        "of one of these "
        "families");
  CHECK_THAT(refused(sound,
                     [](const ConfigJson& config) {
                       config.model_type({"llama4", "opt"});
                     }),
             Catch::Contains("did you mean \"llama4\"?"));
  CHECK_THAT(refused("{}", [](const ConfigJson& config) { config.model_type({"opt"}); }),
             Catch::Contains("model_type: is missing"));
}

TEST_CASE("files that are no config.json are refused", "[config_json]") {
  CHECK_THAT(refused("{\n\"a\": 1,\n\"b\" 2}", [](const ConfigJson&) {}),
             Catch::Contains("m/config.json:3: is no JSON"));
  CHECK_THAT(refused("{\n\"a\": 1,\n\"a\": 1}", [](const ConfigJson&) {}),
             Catch::Contains(":3: the key \"a\" comes twice"));
  CHECK_THAT(refused("[]", [](const ConfigJson&) {}), Catch::Contains("holds no JSON object"));
  CHECK_THAT(refused("{\"a\":" + std::string(100000, '['), [](const ConfigJson&) {}),
             Catch::Contains("has more than 32 levels"));
  CHECK_THAT(refused("{\"a\":[[{\"b\":1},{\n\"b\":2,\"b\":3}]]}", [](const ConfigJson&) {}),
             Catch::Contains(":2: the key \"b\""));
  const TestFolder folder("config_json");
  CHECK_THAT(complaint_of([&] { ConfigJson::read(folder.path("")); }),
             Catch::Contains("config.json does not exist"));
  folder.write("config.json", sound);
  CHECK(ConfigJson::read(folder.path("")).size("hidden_size") == 64);
}

TEST_CASE("harmless keys have reasons and come once", "[config_json]") {
  std::set<std::string> keys;
  for (const HarmlessKey& known : harmless_config_keys()) {
    CHECK(keys.insert(known.key).second);
    CHECK_FALSE(known.reason.empty());
  }
  for (const char* shaping :
       {"hidden_act", "attention_dropout", "quantization_config", "auto_map", "sliding_window"}) {
    CHECK(keys.count(shaping) == 0);
  }
}

}  // namespace
}  // namespace pptrain
