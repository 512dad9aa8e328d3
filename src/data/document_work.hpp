#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "data/document_source.hpp"
#include "data/ordered_work.hpp"
#include "data/tokenize.hpp"
#include "text/json_text.hpp"

namespace pptrain {

/// Calls `use(line, where)` for the lines of a part of a .jsonl file that are not blank; `where` is
/// file and line.
template <class Use>
void for_each_line(const DocumentSource& source, const DocumentPart& part, const Use& use) {
  const std::string_view text = source.text(part.file).substr(0, part.chunk.end);
  std::int64_t number = part.first_line;
  for (std::size_t begin = part.chunk.begin; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    use(line, fmt::format("{}:{}", source.path(part.file), number));
  }
}

/// Calls `use(texts, where)` for the lines of a part of a .jsonl file that are not blank, with the
/// texts below `keys`, which `option` names. Where `skip` is set a line that has no such texts, or
/// that `use` refuses before it has changed anything, is left out; returns these lines. Otherwise
/// it throws `Error` (exit code 2).
template <class Use>
BadLines for_each_text_line(const DocumentSource& source, const DocumentPart& part,
                            const std::vector<std::string>& keys, const char* option, bool skip,
                            const Use& use) {
  BadLines bad;
  for_each_line(source, part, [&](std::string_view line, const std::string& where) {
    try {
      use(texts_of_json_line(line, keys, where, option), where);
    } catch (const Error& error) {
      if (!skip || error.code() != ExitCode::bad_input) throw;
      bad.add({1, error.what()});
    }
  });
  return bad;
}

/// Throws `Error` (exit code 2) where bad lines were left out and there are no `good` texts beside.
inline void check_some_lines_are_good(const TokenizeOptions& options, const BadLines& bad,
                                      std::int64_t good) {
  if (good > 0 || bad.count == 0) return;
  throw_bad_input({options.texts.front(),
                   fmt::format("all lines with text are bad, {} of them", bad.count),
                   "the first: " + bad.first, "name the key of the text, or other files"});
}

/// Makes something of every part on several threads, each by a worker of its own (`OrderedWork`),
/// and hands it to `take` in the order of the parts; that returns how many tokens there are so far.
/// Returns how many bytes of text there were.
template <class MakeWorker, class Take>
std::int64_t work_on_parts(const TokenizeOptions& options, DocumentSource& source,
                           const MakeWorker& make_worker, const Take& take) {
  using Result = std::invoke_result_t<std::invoke_result_t<MakeWorker>&, const DocumentPart&>;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  std::int64_t given = 0, done = 0;
  const auto next = [&] { return source.next(); };
  const auto make = [&] {
    return [worker = make_worker()](const DocumentPart& part) mutable {
      return std::pair(part.chunk.end - part.chunk.begin, worker(part));
    };
  };
  OrderedWork<DocumentPart, std::pair<std::size_t, Result>, decltype(next), decltype(make)> work(
      options.num_threads > 0 ? options.num_threads : std::max(cores, 1), next, make);
  const std::int64_t all = source.num_bytes();
  while (const auto part = work.result()) {
    given = take(part->second);
    done += static_cast<std::int64_t>(part->first);
    if (options.progress) options.progress({done, all, given});
  }
  return done;
}

}  // namespace pptrain
