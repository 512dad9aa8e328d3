#include "model/families/config_keys.hpp"

#include <fmt/format.h>

#include <map>

#include "base/log_once.hpp"

namespace pptrain {

Activation activation_of(const ConfigJson& config, const std::string& key,
                         const std::string& fallback) {
  return activation_named(config, key, config.text(key, fallback));
}

Activation activation_named(const ConfigJson& config, const std::string& key,
                            const std::string& name) {
  static const std::map<std::string, Activation> known = {
      {"silu", Activation::silu},        {"swish", Activation::silu},
      {"gelu", Activation::gelu},        {"gelu_new", Activation::gelu_tanh},
      {"relu", Activation::relu},        {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"gelu_python", Activation::gelu}, {"gelu_fast", Activation::gelu_tanh}};
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  config.refuse(key, fmt::format("{} = \"{}\" is not known", key, name),
                "it would change every number behind it; known are silu, gelu, gelu_new, "
                "gelu_pytorch_tanh and relu",
                "use a model with one of these");
}

void note_dropout(const ConfigJson& config) {
  for (const char* key : {"activation_dropout", "attention_dropout", "attention_probs_dropout_prob",
                          "attn_pdrop", "dropout", "dropout_rate", "embd_pdrop", "hidden_dropout",
                          "hidden_dropout_prob", "layerdrop", "resid_pdrop"}) {
    const double probability = config.number(key, 0.0);
    if (probability == 0.0) continue;
    log_warning_once(fmt::format("{} = {} is not followed: [training] dropout says what is dropped",
                                 key, probability));
  }
}

void check_heads(const ConfigJson& config, std::int64_t heads, std::int64_t key_heads,
                 const std::string& key_heads_key) {
  if (heads % key_heads == 0) return;
  const bool says = config.has(key_heads_key);
  config.refuse(key_heads_key,
                fmt::format("{} key-value heads do not divide {} heads", key_heads, heads),
                says ? "every key-value head serves equally many query heads"
                     : "that many are the default of transformers' class where the key is left out",
                says ? "correct one of the two numbers" : "add the key with their number");
}

namespace {

std::int64_t key_heads_of(const ConfigJson& config, std::int64_t heads,
                          const LlamaDefaults& defaults) {
  const char* key = "num_key_value_heads";
  if (config.is_null(key) && !defaults.null_means_heads) {
    config.refuse(key, "is null", "the class of transformers cannot be built with that",
                  "add their number");
  }
  const bool as_many = config.is_null(key) || defaults.key_heads == 0;
  return config.size(key, as_many ? heads : defaults.key_heads, most_heads);
}

std::int64_t head_size_of(const ConfigJson& config, std::int64_t otherwise,
                          const LlamaDefaults& defaults) {
  if (config.is_null("head_dim") && defaults.head_size > 0) {
    config.refuse("head_dim", "is null", "the class of transformers cannot be built with that",
                  "add their size");
  }
  const std::int64_t size =
      config.size("head_dim", defaults.head_size > 0 ? defaults.head_size : otherwise, most_width);
  if (size % 2 == 0) return size;
  config.refuse("head_dim", fmt::format("heads of {} columns", size),
                "rotary positions turn pairs of columns",
                "correct head_dim, or hidden_size and num_attention_heads");
}

}  // namespace

LlamaShape llama_shape(const std::string& name, const ConfigJson& config,
                       const FamilyOptions& options, const LlamaDefaults& defaults) {
  LlamaShape s;
  s.layers = config.size("num_hidden_layers", std::nullopt, most_layers);
  s.chain.name = name;
  s.chain.tokens = options.tokens;
  s.chain.compute_bytes = options.compute_bytes;
  s.chain.hidden = config.size("hidden_size", defaults.hidden, most_width);
  s.chain.vocabulary = config.size("vocab_size", defaults.vocabulary);
  s.chain.tied = config.boolean("tie_word_embeddings", false);
  s.chain.deviation = config.number("initializer_range", 0.02);
  BlockShape& block = s.block;
  block.heads = config.size("num_attention_heads", defaults.heads, most_heads);
  block.key_heads = key_heads_of(config, block.heads, defaults);
  check_heads(config, block.heads, block.key_heads, "num_key_value_heads");
  block.head_size = head_size_of(config, s.chain.hidden / block.heads, defaults);
  block.feed_forward = config.size("intermediate_size", std::nullopt, most_columns);
  block.norm = {NormKind::rms, static_cast<float>(config.number("rms_norm_eps", defaults.epsilon)),
                false};
  block.activation = activation_of(config, "hidden_act", "silu");
  if (!defaults.own_rotary)
    block.rotary = whole_heads_turn(config, block.head_size, defaults.theta);
  // Longer samples than a model was trained on are the user's choice.
  config.integer("max_position_embeddings", 0);
  return s;
}

ChainShape llama_chain(const LlamaShape& shape) {
  ChainShape chain = shape.chain;
  chain.norm = shape.block.norm;
  chain.blocks.assign(static_cast<std::size_t>(shape.layers), shape.block);
  for (std::size_t i = 0; i < shape.windows.size(); ++i) chain.blocks[i].window = shape.windows[i];
  for (std::size_t i = 0; i < shape.rotary.size(); ++i) chain.blocks[i].rotary = shape.rotary[i];
  return chain;
}

Model build_llama_chain(const LlamaShape& shape) { return build_chain(llama_chain(shape)); }

std::int64_t qwen_window(const ConfigJson& config, std::int64_t fallback) {
  const bool slides = config.boolean("use_sliding_window", false);
  const bool is_there =
      config.has("sliding_window") || (fallback > 0 && !config.is_null("sliding_window"));
  if (slides && is_there) return config.size("sliding_window", fallback);
  config.integer("sliding_window", 0);
  return 0;
}

std::vector<std::int64_t> layer_windows(
    const ConfigJson& config, std::int64_t layers, std::int64_t window,
    const std::function<bool(std::int64_t)>& slides_by_default) {
  std::vector<std::int64_t> windows;
  const std::vector<std::string> types = config.texts("layer_types");
  if (!types.empty() && static_cast<std::int64_t>(types.size()) != layers) {
    config.refuse("layer_types",
                  fmt::format("layer_types has {} entries for {} layers", types.size(), layers),
                  "each layer has one", "correct layer_types or num_hidden_layers");
  }
  for (std::int64_t i = 0; i < layers; ++i) {
    bool slides = slides_by_default && slides_by_default(i);
    if (!types.empty()) {
      const std::string& type = types[static_cast<std::size_t>(i)];
      slides = type == "sliding_attention";
      if (!slides && type != "full_attention") {
        config.refuse(
            "layer_types", fmt::format("attention of type \"{}\" is not known", type),
            "it would change every number; known are full_attention and sliding_attention",
            "use a model with these");
      }
    }
    if (slides && window == 0 && !types.empty()) {
      config.refuse("layer_types",
                    fmt::format("layer {} is of sliding_attention, without a window", i),
                    "transformers cannot compute that, or passes over it, by its version",
                    "name the window in sliding_window, or write full_attention");
    }
    windows.push_back(slides ? window : 0);
  }
  return windows;
}

}  // namespace pptrain
