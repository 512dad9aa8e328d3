#include "data/document_encoder.hpp"

#include "data/document_work.hpp"

namespace pptrain {
namespace {

void append(const std::vector<std::uint32_t>& tokens, PartTokens& result) {
  result.tokens.insert(result.tokens.end(), tokens.begin(), tokens.end());
}

}  // namespace

PartTokens DocumentEncoder::operator()(const DocumentPart& part) {
  PartTokens result;
  if (source_.has_lines(part.file)) {
    append_lines(part, result);
  } else {
    append_text(part, result);
  }
  return result;
}

void DocumentEncoder::append_text(const DocumentPart& part, PartTokens& result) {
  const std::string_view text = source_.text(part.file);
  if (part.chunk.begin == 0) append(frame_.before, result);
  append_chunk(text, part.chunk, encoder_, result.tokens);
  if (part.chunk.end < text.size()) return;
  append(frame_.behind, result);
  result.ends.push_back(result.tokens.size());
}

void DocumentEncoder::append_lines(const DocumentPart& part, PartTokens& result) {
  std::vector<std::uint32_t> tokens;
  const auto append_line = [&](const std::vector<std::string>& texts, const std::string&) {
    tokens.clear();
    encoder_.append(texts.front(), tokens);
    append(frame_.before, result);
    append(tokens, result);
    append(frame_.behind, result);
    result.ends.push_back(result.tokens.size());
  };
  result.bad_lines = for_each_text_line(source_, part, {options_.json_key}, "--json-key",
                                        options_.skip_bad_lines, append_line);
}

}  // namespace pptrain
