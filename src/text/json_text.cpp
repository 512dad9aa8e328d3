#include "text/json_text.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json_levels.hpp"
#include "base/names.hpp"
#include "base/open_file.hpp"

namespace pptrain {
namespace {

/// What is below a key, or below the parts of one with dots; null where there is nothing.
const nlohmann::json* find_below(const nlohmann::json& object, const std::string& key) {
  if (!object.is_object()) return nullptr;
  const auto whole = object.find(key);
  if (whole != object.end()) return &*whole;
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) return nullptr;
  const auto outer = object.find(key.substr(0, dot));
  return outer == object.end() ? nullptr : find_below(*outer, key.substr(dot + 1));
}

/// The object in a line. Lines may be deeper than files that programs write: nothing but the parser
/// sees their levels.
nlohmann::json object_of_line(std::string_view line, const std::string& where) {
  std::string reason = "a .jsonl file has one on each line";
  try {
    nlohmann::json document = nlohmann::json::parse(line);
    if (document.is_object()) return document;
  } catch (const nlohmann::json::exception& error) {
    reason = json_reason(error.what());
  }
  throw_bad_input({where, "this is no JSON object", reason,
                   "correct the line, leave such lines out with --skip-bad-lines, or name text "
                   "with another ending"});
}

}  // namespace

std::optional<nlohmann::json> read_json_object(const std::string& path) {
  constexpr const char* suggestion = "correct the file, or take it as it was published";
  const OpenFile file(path);
  if (file.is_missing()) return std::nullopt;
  const std::string text = read_text(file, {path, "cannot be read", "", "check the file"});
  check_json_levels(text, path, suggestion);
  std::string reason;
  try {
    nlohmann::json document = nlohmann::json::parse(text);
    if (document.is_object()) return std::make_optional(std::move(document));
  } catch (const nlohmann::json::exception& error) {
    reason = json_reason(error.what());
  }
  throw_bad_input({path, "this is no JSON object", reason, suggestion});
}

std::vector<std::string> texts_of_json_line(std::string_view line,
                                            const std::vector<std::string>& keys,
                                            const std::string& where, const char* option) {
  const nlohmann::json document = object_of_line(line, where);
  std::vector<std::string> texts;
  for (const std::string& key : keys) {
    const nlohmann::json* text = find_below(document, key);
    if (text == nullptr || !text->is_string())
      throw_bad_input({where, fmt::format("there is no text below \"{}\"", shown(key)),
                       text == nullptr ? "the object has no such key" : "the value is no string",
                       fmt::format("name the key of the text with {}", option)});
    texts.push_back(text->get<std::string>());
  }
  return texts;
}

std::optional<std::string> named_token(const std::string& tokenizer, const char* role) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path folder = fs::is_directory(tokenizer, ignored) ? fs::path(tokenizer)
                                                               : fs::path(tokenizer).parent_path();
  const std::string path = (folder / "tokenizer_config.json").string();
  const std::optional<nlohmann::json> document = read_json_object(path);
  if (!document) return std::nullopt;
  const auto token = document->find(role);
  if (token == document->end()) return std::nullopt;
  if (token->is_string()) return token->get<std::string>();
  const bool described =
      token->is_object() && token->contains("content") && token->at("content").is_string();
  return described ? std::optional(token->at("content").get<std::string>()) : std::nullopt;
}

}  // namespace pptrain
