#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.hpp"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace pptrain {

/// The piece that ends lines in a model that is trained here.
inline constexpr const char* trained_line_end = "\n";

/// A SentencePiece model that turns text into tokens.
class Vocabulary {
 public:
  /// Reads a model file; a foreign one throws `Error` (exit code 2).
  static Vocabulary read(const std::string& path);
  /// Trains a byte-pair-encoding model with `num_pieces` pieces on the texts. More pieces than the
  /// text yields, or fewer than its characters, throw `Error` (exit code 2).
  static Vocabulary train(const std::vector<MappedFile>& texts, std::int64_t num_pieces);

  Vocabulary(Vocabulary&&) noexcept;
  ~Vocabulary();

  /// Pieces of the model, control pieces and bytes included: tokens are below it.
  std::int64_t size() const;
  /// The piece with this number as the model has it: spaces are U+2581, bytes `<0x41>`.
  const std::string& piece(std::uint32_t token) const;
  /// The tokens of a text, without any that mark its beginning or end.
  std::vector<std::uint32_t> encode(std::string_view text) const;
  /// The text of the tokens, for checks and samples.
  std::string decode(const std::vector<std::uint32_t>& tokens) const;
  /// A model that was trained here as the text of a tokenizer.json, which makes the same tokens of
  /// text.
  std::string tokenizer_json() const;
  /// The model as the bytes of its file.
  const std::string& serialized() const { return serialized_; }

 private:
  Vocabulary(std::string serialized, const std::string& where);

  std::string serialized_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
};

}  // namespace pptrain
