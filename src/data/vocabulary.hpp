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

  std::int64_t size() const;
  std::vector<std::uint32_t> encode(std::string_view text) const;
  /// The text of the tokens, for checks and samples.
  std::string decode(const std::vector<std::uint32_t>& tokens) const;
  /// The model as the bytes of its file.
  const std::string& serialized() const { return serialized_; }

 private:
  Vocabulary(std::string serialized, const std::string& where);

  std::string serialized_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
};

}  // namespace pptrain
