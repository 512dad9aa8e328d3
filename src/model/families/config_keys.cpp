#include "model/families/config_keys.hpp"

#include <fmt/format.h>

#include <map>

#include "base/log.hpp"
#include "weights/config_rotary.hpp"

namespace pptrain {

Activation activation_of(const ConfigJson& config, const std::string& key, const std::string& fallback) {
  return activation_named(config, key, config.text(key, fallback));
}

Activation activation_named(const ConfigJson& config, const std::string& key, const std::string& name) {
  static const std::map<std::string, Activation> known = {
      {"silu", Activation::silu},        {"swish", Activation::silu},
      {"gelu", Activation::gelu},        {"gelu_new", Activation::gelu_tanh},
      {"relu", Activation::relu},        {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"gelu_python", Activation::gelu}, {"gelu_fast", Activation::gelu_tanh}};
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  config.refuse(key, fmt::format("{} = \"{}\" is not known", key, name),
                "it would change every number behind it; known are silu, gelu, gelu_new, gelu_pytorch_tanh and relu",
                "use a model with one of these");
}

void note_dropout(const ConfigJson& config, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    const double probability = config.number(key, 0.0);
    if (probability != 0.0)
      log_warning("{} = {} is not followed: [training] dropout says what is dropped", key, probability);
  }
}

void check_heads(const ConfigJson& config, std::int64_t heads, std::int64_t key_heads,
                 const std::string& key_heads_key) {
  if (heads % key_heads == 0) return;
  config.refuse(key_heads_key, fmt::format("{} key-value heads do not divide {} heads", key_heads, heads),
                "every key-value head serves equally many query heads", "correct one of the two numbers");
}

RotaryForm rotary_of(const ConfigJson& config, std::int64_t rotated, double fallback_theta,
                     const std::string& theta_key) {
  const RotaryConfig read = read_rotary(config, fallback_theta, theta_key);
  RotaryForm form;
  form.theta = read.theta;
  form.rotated = rotated;
  if (read.type == "default") return form;
  if (read.type == "linear") {
    form.scaling = RotaryForm::Scaling::linear;
    form.factor = read.details->number("factor");
    return form;
  }
  if (read.type == "llama3") {
    form.scaling = RotaryForm::Scaling::llama3;
    form.factor = read.details->number("factor");
    form.low_frequency_factor = read.details->number("low_freq_factor");
    form.high_frequency_factor = read.details->number("high_freq_factor");
    form.original_length = read.details->number("original_max_position_embeddings");
    return form;
  }
  config.refuse("", fmt::format("rotary positions of type \"{}\" are not known", read.type),
                "they would change every number; known are default, linear and llama3",
                "use a model with one of these");
}

LlamaShape llama_shape(const std::string& name, const ConfigJson& config, const FamilyOptions& options,
                       std::int64_t fallback_head_size) {
  LlamaShape s;
  s.layers = config.size("num_hidden_layers");
  s.chain.name = name;
  s.chain.tokens = options.tokens;
  s.chain.compute_bytes = options.compute_bytes;
  s.chain.hidden = config.size("hidden_size");
  s.chain.vocabulary = config.size("vocab_size");
  s.chain.tied = config.boolean("tie_word_embeddings", false);
  s.chain.deviation = config.number("initializer_range", 0.02);
  BlockShape& block = s.block;
  block.heads = config.size("num_attention_heads");
  block.key_heads = config.size("num_key_value_heads", block.heads);
  check_heads(config, block.heads, block.key_heads, "num_key_value_heads");
  block.head_size = config.size("head_dim", fallback_head_size > 0 ? fallback_head_size : s.chain.hidden / block.heads);
  if (block.head_size % 2 != 0) {
    config.refuse("head_dim", fmt::format("heads of {} columns", block.head_size),
                  "rotary positions turn pairs of columns", "correct head_dim, or hidden_size and num_attention_heads");
  }
  block.feed_forward = config.size("intermediate_size");
  block.norm = {NormKind::rms, static_cast<float>(config.number("rms_norm_eps", 1e-6)), false};
  block.activation = activation_of(config, "hidden_act", "silu");
  block.rotary = rotary_of(config, block.head_size, 10000.0);
  // Longer samples than a model was trained on are the user's choice.
  config.integer("max_position_embeddings", 0);
  config.only("pretraining_tp", std::int64_t{1}, "only whole products are computed");
  note_dropout(config, {"attention_dropout"});
  return s;
}

ChainShape llama_chain(const LlamaShape& shape) {
  ChainShape chain = shape.chain;
  chain.norm = shape.block.norm;
  chain.blocks.assign(static_cast<std::size_t>(shape.layers), shape.block);
  for (std::size_t i = 0; i < shape.windows.size(); ++i) chain.blocks[i].window = shape.windows[i];
  return chain;
}

Model build_llama_chain(const LlamaShape& shape) { return build_chain(llama_chain(shape)); }

std::vector<std::int64_t> layer_windows(const ConfigJson& config, std::int64_t layers, std::int64_t window,
                                        std::int64_t first) {
  std::vector<std::int64_t> windows;
  const std::vector<std::string> types = config.texts("layer_types");
  if (!types.empty() && static_cast<std::int64_t>(types.size()) != layers) {
    config.refuse("layer_types", fmt::format("layer_types has {} entries for {} layers", types.size(), layers),
                  "each layer has one", "correct layer_types or num_hidden_layers");
  }
  for (std::int64_t i = 0; i < layers; ++i) {
    bool slides = i >= first;
    if (!types.empty()) {
      const std::string& type = types[static_cast<std::size_t>(i)];
      slides = type == "sliding_attention";
      if (!slides && type != "full_attention") {
        config.refuse("layer_types", fmt::format("attention of type \"{}\" is not known", type),
                      "it would change every number; known are full_attention and sliding_attention",
                      "use a model with these");
      }
    }
    windows.push_back(slides ? window : 0);
  }
  return windows;
}

}  // namespace pptrain
