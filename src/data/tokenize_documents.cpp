#include "data/tokenize_documents.hpp"

#include <fmt/format.h>

#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/names.hpp"
#include "data/document_source.hpp"
#include "data/document_writer.hpp"
#include "data/ordered_work.hpp"
#include "text/json_text.hpp"

namespace pptrain {
namespace {

/// The tokens of a part, and where documents end among them.
struct PartTokens {
  std::vector<std::uint32_t> tokens;
  std::vector<std::size_t> ends;
  std::size_t bytes = 0;  // of text
};

/// The tokens in front of every document and behind it.
struct DocumentFrame {
  std::vector<std::uint32_t> before;
  std::vector<std::uint32_t> behind;
};

std::uint32_t end_of_document_token(const TokenizeOptions& options, const Tokenizer& tokenizer) {
  const std::optional<std::string> name = options.end_of_document.empty() ? named_end_of_document(options.tokenizer)
                                                                          : std::optional(options.end_of_document);
  if (!name)
    throw_bad_input({"--append-eod", "the tokenizer does not say which token ends a document",
                     "there is no eos_token in a tokenizer_config.json beside it", "name the token with --eod-token"});
  const std::optional<std::uint32_t> token = tokenizer.token(*name);
  if (!token)
    throw_bad_input({options.end_of_document.empty() ? "--append-eod" : "--eod-token",
                     fmt::format("the tokenizer has no token \"{}\"", shown(*name)), "",
                     "name one of its tokens with --eod-token"});
  return *token;
}

DocumentFrame make_frame(const TokenizeOptions& options, const Tokenizer& tokenizer) {
  DocumentFrame frame;
  if (options.special_tokens) frame = {tokenizer.prefix(), tokenizer.suffix()};
  if (options.append_end_of_document || !options.end_of_document.empty()) {
    const std::uint32_t end = end_of_document_token(options, tokenizer);
    if (frame.behind.empty() || frame.behind.back() != end) frame.behind.push_back(end);
  }
  return frame;
}

/// Makes tokens of parts, on one thread.
class PartEncoder {
 public:
  PartEncoder(const DocumentSource& source, const Tokenizer& tokenizer, const DocumentFrame& frame,
              const std::string& key)
      : source_(source), encoder_(tokenizer), frame_(frame), key_(key) {}

  PartTokens operator()(const DocumentPart& part) {
    PartTokens result;
    result.bytes = part.chunk.end - part.chunk.begin;
    if (source_.has_lines(part.file)) {
      append_lines(part, result);
    } else {
      append_text(part, result);
    }
    return result;
  }

 private:
  static void append(const std::vector<std::uint32_t>& tokens, PartTokens& result) {
    result.tokens.insert(result.tokens.end(), tokens.begin(), tokens.end());
  }

  void append_text(const DocumentPart& part, PartTokens& result) {
    const std::string_view text = source_.text(part.file);
    if (part.chunk.begin == 0) append(frame_.before, result);
    append_chunk(text, part.chunk, encoder_, result.tokens);
    if (part.chunk.end < text.size()) return;
    append(frame_.behind, result);
    result.ends.push_back(result.tokens.size());
  }

  void append_lines(const DocumentPart& part, PartTokens& result) {
    const std::string_view text = source_.text(part.file).substr(0, part.chunk.end);
    std::int64_t number = part.first_line;
    for (std::size_t begin = part.chunk.begin; begin < text.size(); ++number) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string_view line = text.substr(begin, end - begin);
      begin = end + 1;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      const std::string where = fmt::format("{}:{}", source_.path(part.file), number);
      append(frame_.before, result);
      encoder_.append(text_of_json_line(line, key_, where), result.tokens);
      append(frame_.behind, result);
      result.ends.push_back(result.tokens.size());
    }
  }

  const DocumentSource& source_;
  TextEncoder encoder_;
  const DocumentFrame& frame_;
  const std::string& key_;
};

void write_part(const PartTokens& part, DocumentWriter& writer) {
  std::size_t begin = 0;
  for (const std::size_t end : part.ends) {
    writer.append(std::span(part.tokens).subspan(begin, end - begin));
    writer.end_document();
    begin = end;
  }
  writer.append(std::span(part.tokens).subspan(begin));
}

void warn_of_replaced_bytes(const DocumentSource& source) {
  for (std::size_t file = 0; file < source.num_files(); ++file) {
    if (source.replaced(file) == 0) continue;
    log_warning("{} is not UTF-8 in {} places; the character U+FFFD takes their place", source.path(file),
                source.replaced(file));
  }
}

/// Writes the tokens of all parts, in their order; returns how many bytes of text they had.
std::int64_t write_documents(const TokenizeOptions& options, const Tokenizer& tokenizer, DocumentSource& source,
                             DocumentWriter& writer) {
  const DocumentFrame frame = make_frame(options, tokenizer);
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const auto next = [&] { return source.next(); };
  const auto make_worker = [&] { return PartEncoder(source, tokenizer, frame, options.json_key); };
  OrderedWork<DocumentPart, PartTokens, decltype(next), decltype(make_worker)> work(
      options.num_threads > 0 ? options.num_threads : std::max(cores, 1), next, make_worker);
  const std::int64_t all = source.num_bytes();
  std::int64_t done = 0;
  while (const std::optional<PartTokens> part = work.result()) {
    write_part(*part, writer);
    done += static_cast<std::int64_t>(part->bytes);
    if (options.progress) options.progress({done, all, writer.num_tokens()});
  }
  return done;
}

}  // namespace

TokenizeResult tokenize_documents(const TokenizeOptions& options) {
  const Tokenizer tokenizer = Tokenizer::read(options.tokenizer);
  DocumentSource source(options.texts, tokenizer, options.part_bytes);
  warn_of_replaced_bytes(source);
  DocumentWriter writer(options.output, tokenizer.vocabulary_size(),
                        options.megatron ? TokenLayout::indexed : TokenLayout::header);
  TokenizeResult result;
  result.num_bytes = write_documents(options, tokenizer, source, writer);
  result.num_tokens = writer.num_tokens();
  result.num_documents = writer.num_documents();
  result.token_bytes = writer.token_bytes();
  result.vocabulary_size = tokenizer.vocabulary_size();
  result.index_path = writer.index_path();
  writer.commit();
  return result;
}

}  // namespace pptrain
