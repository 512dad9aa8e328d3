#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

#include "data/document_source.hpp"
#include "data/ordered_work.hpp"
#include "data/tokenize.hpp"

namespace pptrain {

/// Calls `use(line, where)` for the lines of a part of a .jsonl file that are not blank; `where` is file and line.
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

/// Makes something of every part on several threads, each by a worker of its own (`OrderedWork`), and hands it to
/// `take` in the order of the parts; that returns how many tokens there are so far. Returns how many bytes of text
/// there were.
template <class MakeWorker, class Take>
std::int64_t work_on_parts(const TokenizeOptions& options, DocumentSource& source, const MakeWorker& make_worker,
                           const Take& take) {
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
