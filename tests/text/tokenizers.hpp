#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "text/tokenizer.hpp"

namespace pptrain {

/// The text of a file.
inline std::string content_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.is_open());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The folders below one, in order: one for each recorded tokenizer.
inline std::vector<std::string> tokenizer_folders(const std::string& folder) {
  std::set<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_directory()) folders.insert(entry.path().string());
  return {folders.begin(), folders.end()};
}

/// A small tokenizer of characters, as JSON that tests change: "ab" and "abc" are merged.
inline nlohmann::json small_tokenizer() {
  return nlohmann::json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
    "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
              "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
              "vocab": {"a": 0, "b": 1, "c": 2, " ": 3, "ab": 4, "abc": 5}, "merges": ["a b", ["ab", "c"]]}})");
}

inline Tokenizer tokenizer_of(const nlohmann::json& document) {
  return Tokenizer::parse(document.dump(), "t.json");
}

/// Whether the text begins so; it is shown where a check of that fails.
inline bool begins(const std::string& text, const std::string& start) {
  UNSCOPED_INFO(text);
  return text.starts_with(start);
}

/// The text so many times in a row.
inline std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace pptrain
