#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/document_source.hpp"
#include "data/tokenize.hpp"
#include "text/tokenizer.hpp"

namespace pptrain {

/// What every sample of one text, or of two, has in common.
struct SegmentLayout {
  std::vector<PairPiece> pieces;  ///< of a sample: its texts and the tokens around them
  std::int64_t length = 0;        ///< T, tokens of a sample with its padding
  std::int64_t padding = 0;       ///< token that fills a sample up
};

/// The layout that options and tokenizer ask for. Throws `Error` (exit code 2) where the tokenizer
/// does not say how two texts become one sequence or what its padding is, or where samples have no
/// room for text.
SegmentLayout segment_layout(const TokenizeOptions& options, const Tokenizer& tokenizer);

/// The samples of a part, row behind row: `length` tokens, types and ones (zeros at padding) of
/// each.
struct PartSegments {
  std::vector<std::int64_t> tokens, types, mask;
  std::int64_t num_tokens = 0;  ///< without padding
  std::int64_t num_cut = 0;     ///< texts of which the end was left out
  BadLines bad_lines = {};
};

/// Makes samples of lines with one text or two, on one thread: where these are too long, tokens are
/// taken from the end of the longer one until they fit or both are equally long, then from both in
/// turn, as `longest_first` of Hugging Face's library does it.
class SegmentEncoder {
 public:
  /// All references outlive the encoder.
  SegmentEncoder(const DocumentSource& source, const Tokenizer& tokenizer,
                 const SegmentLayout& layout, const TokenizeOptions& options);

  /// Throws `Error` (exit code 2), with file and line, where a text is missing or a line has no
  /// token of text, unless such lines are left out.
  PartSegments operator()(const DocumentPart& part);

 private:
  void append(const std::vector<std::string>& texts, const std::string& where,
              PartSegments& segments);

  const DocumentSource& source_;
  TextEncoder encoder_;
  const SegmentLayout& layout_;
  const TokenizeOptions& options_;
};

}  // namespace pptrain
