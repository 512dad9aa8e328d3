#include "data/tokenize_documents.hpp"

#include <span>

#include "data/document_encoder.hpp"
#include "data/document_work.hpp"
#include "data/document_writer.hpp"
#include "data/token_origin.hpp"

namespace pptrain {
namespace {

void write_part(const PartTokens& part, DocumentWriter& writer) {
  std::size_t begin = 0;
  for (const std::size_t end : part.ends) {
    writer.append(std::span(part.tokens).subspan(begin, end - begin));
    writer.end_document();
    begin = end;
  }
  writer.append(std::span(part.tokens).subspan(begin));
}

}  // namespace

TokenizeResult tokenize_documents(const TokenizeOptions& options) {
  const Tokenizer tokenizer = Tokenizer::read(options.tokenizer);
  DocumentSource source(options.texts, tokenizer, options.part_bytes);
  source.warn_of_replaced_bytes();
  DocumentWriter writer(options.output, tokenizer.vocabulary_size(), tokenizer_digest(tokenizer),
                        options.megatron ? TokenLayout::indexed : TokenLayout::header);
  const DocumentFrame frame = make_frame(options, tokenizer);
  TokenizeResult result;
  std::int64_t good = 0;
  result.num_bytes = work_on_parts(
      options, source, [&] { return DocumentEncoder(source, tokenizer, frame, options); },
      [&](const PartTokens& part) {
        write_part(part, writer);
        good += std::ssize(part.ends);
        result.bad_lines.add(part.bad_lines);
        return writer.num_tokens();
      });
  result.num_tokens = writer.num_tokens();
  check_some_lines_are_good(options, result.bad_lines, good);
  result.num_documents = writer.num_documents();
  result.token_bytes = writer.token_bytes();
  result.vocabulary_size = tokenizer.vocabulary_size();
  result.index_path = writer.index_path();
  writer.commit();
  return result;
}

}  // namespace pptrain
