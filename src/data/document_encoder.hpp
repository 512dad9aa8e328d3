#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/document_frame.hpp"
#include "data/document_source.hpp"

namespace pptrain {

/// The tokens of a part, and where documents end among them.
struct PartTokens {
  std::vector<std::uint32_t> tokens;
  std::vector<std::size_t> ends;
  BadLines bad_lines;
};

/// Makes tokens of the documents in parts, on one thread: each between the tokens of a frame.
class DocumentEncoder {
 public:
  /// `options` say which text of lines in .jsonl files is taken. All references outlive the
  /// encoder.
  DocumentEncoder(const DocumentSource& source, const Tokenizer& tokenizer,
                  const DocumentFrame& frame, const TokenizeOptions& options)
      : source_(source), encoder_(tokenizer), frame_(frame), options_(options) {}

  /// Throws `Error` (exit code 2) for a line without such a text, unless such lines are left out.
  PartTokens operator()(const DocumentPart& part);

 private:
  void append_text(const DocumentPart& part, PartTokens& result);
  void append_lines(const DocumentPart& part, PartTokens& result);

  const DocumentSource& source_;
  TextEncoder encoder_;
  const DocumentFrame& frame_;
  const TokenizeOptions& options_;
};

}  // namespace pptrain
