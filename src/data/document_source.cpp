#include "data/document_source.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "text/utf8.hpp"

namespace pptrain {

DocumentSource::DocumentSource(const std::vector<std::string>& paths, const Tokenizer& tokenizer,
                               std::size_t part_bytes)
    : encoder_(tokenizer), part_bytes_(part_bytes) {
  files_.reserve(paths.size());  // texts point into their files
  for (const std::string& path : paths) {
    File& file = files_.emplace_back(File{MappedFile(path, "tokenize")});
    check_text(file.mapped, "tokenize");
    file.text = {reinterpret_cast<const char*>(file.mapped.bytes().data()),
                 file.mapped.bytes().size()};
    if (is_utf8(file.text)) continue;
    RepairedText repaired = repaired_utf8(file.text);
    file.repaired = std::move(repaired.text);
    file.replaced = repaired.replaced;
    file.text = file.repaired;
  }
}

void DocumentSource::warn_of_replaced_bytes() const {
  for (const File& file : files_) {
    if (file.replaced == 0) continue;
    log_warning("{} is not UTF-8 in {} places; the character U+FFFD takes their place",
                file.mapped.path(), file.replaced);
  }
}

std::int64_t DocumentSource::num_bytes() const {
  std::int64_t bytes = 0;
  for (const File& file : files_) bytes += static_cast<std::int64_t>(file.text.size());
  return bytes;
}

/// Whole lines: in JSON a line end is never part of a text.
TextChunk DocumentSource::next_lines(std::string_view text) const {
  const std::size_t begin = chunk_.end;
  const std::size_t line_end = text.find('\n', std::min(text.size(), begin + part_bytes_));
  const std::size_t end = line_end == std::string_view::npos ? text.size() : line_end + 1;
  return {begin, begin, end, end};
}

std::optional<DocumentPart> DocumentSource::next() {
  if (file_ < files_.size() && chunk_.end == files_[file_].text.size()) {
    ++file_;
    chunk_ = {};
    line_ = 1;
  }
  if (file_ == files_.size()) return std::nullopt;
  const std::string_view whole = text(file_);
  chunk_ = has_lines(file_) ? next_lines(whole) : next_chunk(whole, chunk_, part_bytes_, encoder_);
  const DocumentPart part = {file_, chunk_, line_};
  if (has_lines(file_)) {
    const std::string_view lines = whole.substr(chunk_.begin, chunk_.end - chunk_.begin);
    line_ += std::count(lines.begin(), lines.end(), '\n');
  }
  return part;
}

}  // namespace pptrain
