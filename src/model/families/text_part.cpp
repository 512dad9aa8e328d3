#include "model/families/text_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log_once.hpp"
#include "model/families/families.hpp"

namespace pptrain {
namespace {

/// Keys that the classes of text types and of their families take differently where they are left
/// out.
constexpr const char* needed_keys[] = {
    "hidden_size",         "intermediate_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "rms_norm_eps",      "vocab_size"};

bool is_text_type(const std::string& type) { return family_of_text(type) != type; }

/// Refuses a text type whose keys do not say all that its class and the family's would fill in
/// differently.
void check_keys(const ConfigJson& text) {
  const auto refuse = [&](const std::string& key) {
    const std::string type = text.text("model_type");
    text.refuse(key, "is left out",
                fmt::format("a {} is read as a {}, and their classes take different values for it",
                            type, family_of_text(type)),
                "add it");
  };
  for (const char* key : needed_keys) {
    if (!text.has(key)) refuse(key);
  }
  if (!text.has("rope_theta") && !text.has("rope_parameters")) refuse("rope_theta");
}

/// Takes out of an object of rotary positions what tells images apart. Whether anything is left.
bool keep_turns_of_texts(nlohmann::ordered_json& rotary) {
  rotary.erase("mrope_section");
  rotary.erase("mrope_interleaved");
  for (const char* key : {"type", "rope_type"}) {
    if (rotary.value(key, "") == "mrope" || rotary.value(key, "") == "default") rotary.erase(key);
  }
  return !rotary.empty();
}

}  // namespace

std::string family_of_text(const std::string& type) {
  for (const Family& family : families()) {
    const std::vector<std::string>& types = family.text_types;
    if (std::find(types.begin(), types.end(), type) != types.end()) return family.type;
  }
  return type;
}

const std::vector<std::string>& keys_beside_text() {
  static const std::vector<std::string> keys = {"image_token_id",        "video_token_id",
                                                "vision_config",         "vision_token_id",
                                                "vision_start_token_id", "vision_end_token_id"};
  return keys;
}

ConfigJson text_part(const ConfigJson& config) {
  const std::string type = config.text("model_type", "");
  const std::vector<std::string> known = family_names();
  if (std::find(known.begin(), known.end(), type) != known.end()) return config;
  const bool is_nested = config.has("text_config");
  if (is_nested || is_text_type(type)) {
    log_notice_once(fmt::format("model_type \"{}\": its text model alone{}", type,
                                is_nested ? ", which text_config describes" : ""));
  }
  const ConfigJson text = is_nested ? config.object("text_config") : config;
  if (is_text_type(text.text("model_type", ""))) check_keys(text);
  return text;
}

nlohmann::ordered_json text_description(const nlohmann::ordered_json& whole,
                                        const std::string& family) {
  if (whole.value("model_type", "") == family) return whole;
  nlohmann::ordered_json text = whole.contains("text_config") ? whole.at("text_config") : whole;
  if (text.value("model_type", "") == family) return text;
  text["model_type"] = family;
  text.erase("architectures");
  for (const std::string& key : keys_beside_text()) text.erase(key);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (text.contains(key) && text[key].is_object() && !keep_turns_of_texts(text[key]))
      text.erase(key);
  }
  return text;
}

}  // namespace pptrain
