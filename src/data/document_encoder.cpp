#include "data/document_encoder.hpp"

#include "data/document_work.hpp"
#include "text/json_text.hpp"

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
  for_each_line(source_, part, [&](std::string_view line, const std::string& where) {
    append(frame_.before, result);
    encoder_.append(texts_of_json_line(line, {key_}, where, "--json-key").front(), result.tokens);
    append(frame_.behind, result);
    result.ends.push_back(result.tokens.size());
  });
}

}  // namespace pptrain
