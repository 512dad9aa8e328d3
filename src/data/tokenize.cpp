#include "data/tokenize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/mapped_file.hpp"
#include "data/check_text.hpp"
#include "data/token_origin.hpp"
#include "data/token_writer.hpp"
#include "data/tokenize_documents.hpp"
#include "data/vocabulary.hpp"

namespace pptrain {
namespace {

// Text is encoded in pieces of about this size that end with a line, so that memory stays bounded.
constexpr std::size_t piece_bytes = std::size_t{1} << 20;

bool same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored);
}

/// What is written has to be no file that is read, whatever the names.
void check_outputs(const TokenizeOptions& options, const std::vector<std::string>& outputs) {
  std::vector<std::string> inputs = options.texts;
  if (!options.tokenizer.empty()) inputs.push_back(options.tokenizer);
  for (const std::string& input : inputs) {
    if (std::none_of(outputs.begin(), outputs.end(),
                     [&](const std::string& o) { return same_file(input, o); }))
      continue;
    const char* what = input == options.tokenizer ? "tokenizer" : "text";
    throw_bad_input({"-o " + options.output,
                     fmt::format("it would overwrite the {} {}", what, input), "",
                     "name another file"});
  }
}

void check_options(const TokenizeOptions& options) {
  if (options.texts.empty())
    throw_bad_input({"tokenize", "there is no text to read", "", "name text files"});
  if (!options.model.empty() && options.train_vocabulary != 0) {
    throw_bad_input({"--model", "it contradicts --train-vocabulary",
                     "a model is either read or trained", "give one"});
  }
  if (!options.tokenizer.empty() && (!options.model.empty() || options.train_vocabulary != 0)) {
    throw_bad_input({"--tokenizer", "it contradicts --model and --train-vocabulary",
                     "text has one kind of tokens", "give one of them"});
  }
  if (options.tokenizer.empty() &&
      (options.append_end_of_document || !options.end_of_document.empty() || options.megatron)) {
    throw_bad_input(
        {"tokenize", "--append-eod, --eod-token and --megatron are only known with --tokenizer",
         "bytes and SentencePiece models are written as one stream", "give a tokenizer.json"});
  }
}

std::vector<MappedFile> open_texts(const std::vector<std::string>& paths) {
  std::vector<MappedFile> texts;
  for (const std::string& path : paths)
    check_text(texts.emplace_back(path, "tokenize"), "tokenize");
  return texts;
}

/// The end of the piece that starts at `begin`: behind the last line end in it, where there is one.
std::size_t piece_end(std::string_view text, std::size_t begin) {
  if (text.size() - begin <= piece_bytes) return text.size();
  const std::size_t line_end = text.rfind('\n', begin + piece_bytes - 1);
  if (line_end != std::string_view::npos && line_end >= begin) return line_end + 1;
  const std::size_t next = text.find('\n', begin);
  return next == std::string_view::npos ? text.size() : next + 1;
}

void append_text(TokenWriter& writer, const MappedFile& file,
                 const std::optional<Vocabulary>& vocabulary) {
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = piece_end(text, begin);
    const std::string_view piece = text.substr(begin, end - begin);
    if (vocabulary) {
      writer.append(vocabulary->encode(piece));
    } else {
      std::vector<std::uint32_t> tokens(piece.size());
      std::transform(piece.begin(), piece.end(), tokens.begin(), [](char c) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(c));
      });
      writer.append(tokens);
    }
    begin = end;
  }
}

void write_beside(const std::string& path, const std::string& content) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(content)));
  file.commit();
}

}  // namespace

void check_tokenize_options(const TokenizeOptions& options, std::vector<std::string> more_outputs) {
  check_options(options);
  more_outputs.push_back(options.output);
  check_outputs(options, more_outputs);
}

TokenizeResult tokenize_files(const TokenizeOptions& options) {
  const auto beside = [&](const char* extension) {
    return std::filesystem::path(options.output).replace_extension(extension).string();
  };
  if (!options.tokenizer.empty()) {
    check_tokenize_options(
        options, options.megatron ? std::vector{beside(".idx")} : std::vector<std::string>());
    return tokenize_documents(options);
  }
  const std::string model_path = beside(".model");
  const std::string tokenizer_path =
      options.train_vocabulary != 0 ? beside(trained_tokenizer_extension) : "";
  check_tokenize_options(options, {model_path, tokenizer_path});
  const std::vector<MappedFile> texts = open_texts(options.texts);
  TokenWriter writer(options.output);  // before a long training, so that a bad path is found at
                                       // once
  std::optional<Vocabulary> vocabulary;
  if (!options.model.empty()) vocabulary.emplace(Vocabulary::read(options.model));
  if (options.train_vocabulary != 0)
    vocabulary.emplace(Vocabulary::train(texts, options.train_vocabulary));

  TokenizeResult result;
  result.vocabulary_size = vocabulary ? vocabulary->size() : 256;
  writer.set_vocabulary(result.vocabulary_size,
                        vocabulary ? tokenizer_digest(*vocabulary) : byte_tokens_digest());
  for (const MappedFile& text : texts) {
    append_text(writer, text, vocabulary);
    result.num_bytes += static_cast<std::int64_t>(text.bytes().size());
  }
  result.num_tokens = writer.num_tokens();
  if (vocabulary) {
    result.model_path = model_path;
    if (!same_file(options.model, model_path)) write_beside(model_path, vocabulary->serialized());
    result.tokenizer_path = tokenizer_path;
    if (!tokenizer_path.empty()) write_beside(tokenizer_path, vocabulary->tokenizer_json());
  }
  writer.commit();
  return result;
}

}  // namespace pptrain
