#include "text/json_text.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/names.hpp"

namespace pptrain {

std::string text_of_json_line(std::string_view line, const std::string& key, const std::string& where) {
  const nlohmann::json document = nlohmann::json::parse(line, nullptr, false);
  if (!document.is_object())
    throw_bad_input({where, "this is no JSON object", "a .jsonl file has one on each line",
                     "correct the line, or give text in a file with another ending"});
  const auto text = document.find(key);
  if (text == document.end() || !text->is_string())
    throw_bad_input({where, fmt::format("there is no text below \"{}\"", shown(key)),
                     text == document.end() ? "the object has no such key" : "the value is no string",
                     "name the key of the text with --json-key"});
  return text->get<std::string>();
}

std::optional<std::string> named_end_of_document(const std::string& tokenizer) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path folder =
      fs::is_directory(tokenizer, ignored) ? fs::path(tokenizer) : fs::path(tokenizer).parent_path();
  const std::string path = (folder / "tokenizer_config.json").string();
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return std::nullopt;
  const nlohmann::json document = nlohmann::json::parse(file, nullptr, false);
  if (!document.is_object())
    throw_bad_input({path, "this is no JSON object", "", "name the token with --eod-token, or correct the file"});
  const auto token = document.find("eos_token");
  if (token == document.end()) return std::nullopt;
  if (token->is_string()) return token->get<std::string>();
  const bool described = token->is_object() && token->contains("content") && token->at("content").is_string();
  return described ? std::optional(token->at("content").get<std::string>()) : std::nullopt;
}

}  // namespace pptrain
