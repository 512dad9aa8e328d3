#include "text/chunk.hpp"

#include <algorithm>

namespace pptrain {
namespace {

// How much text around a cut tells that nothing reaches over it: many times what a pattern looks
// ahead, little beside a chunk.
constexpr std::size_t short_context = 256;
constexpr std::size_t long_context = 1024;
constexpr std::size_t longest_line = 4096;  // a context begins in the middle of lines that are
                                            // longer
constexpr std::size_t most_trials = 32;     // before the chunk grows by the wanted size
constexpr std::ptrdiff_t compared_tokens = 8;

bool is_space(char c) { return static_cast<unsigned char>(c) <= 0x20; }
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::string_view part_of(std::string_view text, std::size_t begin, std::size_t end) {
  return text.substr(begin, end - begin);
}

/// The beginning of a line, `bytes` or more before `cut`.
std::size_t context_before(std::string_view text, std::size_t cut, std::size_t bytes) {
  if (cut <= bytes) return 0;
  std::size_t begin = cut - bytes;
  const std::size_t line_end = text.rfind('\n', begin - 1);
  const std::size_t line = line_end == std::string_view::npos ? 0 : line_end + 1;
  if (begin - line <= longest_line) return line;
  while (begin > 0 && continues_character(text[begin])) --begin;
  return begin;
}

/// The end of a line, some bytes behind `cut`.
std::size_t context_behind(std::string_view text, std::size_t cut) {
  if (text.size() - cut <= short_context) return text.size();
  std::size_t end = cut + short_context;
  const std::size_t line_end =
      text.substr(0, std::min(text.size(), end + longest_line)).find('\n', end);
  if (line_end != std::string_view::npos) return line_end + 1;
  while (end < text.size() && continues_character(text[end])) ++end;
  return end;
}

struct TriedCut {
  std::vector<std::uint32_t> before;
  std::vector<std::uint32_t> behind;  // when encoded with the text before
  bool independent = false;           // the text behind changes nothing before
};

TriedCut try_cut(std::string_view text, std::size_t context, std::size_t cut, std::size_t end,
                 TextEncoder& encoder) {
  TriedCut tried;
  encoder.append(part_of(text, context, cut), tried.before);
  std::vector<std::uint32_t> both;
  encoder.append(part_of(text, context, end), both);
  tried.independent = both.size() >= tried.before.size() &&
                      std::equal(tried.before.begin(), tried.before.end(), both.begin());
  if (tried.independent)
    tried.behind.assign(both.begin() + static_cast<std::ptrdiff_t>(tried.before.size()),
                        both.end());
  return tried;
}

bool same_end(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  const std::ptrdiff_t count = std::min({compared_tokens, std::ssize(a), std::ssize(b)});
  return std::equal(a.end() - count, a.end(), b.end() - count);
}

bool may_cut(std::string_view text, std::size_t cut, TextEncoder& encoder) {
  if (cut < 2 || is_space(text[cut]) || is_space(text[cut - 2])) return false;
  const std::size_t end = context_behind(text, cut);
  const TriedCut near = try_cut(text, context_before(text, cut, short_context), cut, end, encoder);
  if (!near.independent) return false;
  const TriedCut far = try_cut(text, context_before(text, cut, long_context), cut, end, encoder);
  return far.independent && near.behind == far.behind && same_end(near.before, far.before);
}

}  // namespace

TextChunk next_chunk(std::string_view text, const TextChunk& previous, std::size_t wanted,
                     TextEncoder& encoder) {
  TextChunk chunk = {previous.next_context, previous.end, text.size(), text.size()};
  std::size_t from = chunk.begin + wanted;
  for (std::size_t trials = 0; from < text.size(); ++trials) {
    const std::size_t line_end = text.find('\n', from);
    if (line_end == std::string_view::npos || line_end + 1 == text.size()) break;
    const std::size_t cut = line_end + 1;
    if (may_cut(text, cut, encoder)) {
      chunk.end = cut;
      chunk.next_context = context_before(text, cut, short_context);
      break;
    }
    from = cut + (trials % most_trials == most_trials - 1 ? wanted : 0);
  }
  return chunk;
}

void append_chunk(std::string_view text, const TextChunk& chunk, TextEncoder& encoder,
                  std::vector<std::uint32_t>& tokens) {
  if (chunk.context == chunk.begin)
    return encoder.append(part_of(text, chunk.begin, chunk.end), tokens);
  std::vector<std::uint32_t> context;
  encoder.append(part_of(text, chunk.context, chunk.begin), context);
  std::vector<std::uint32_t> both;
  encoder.append(part_of(text, chunk.context, chunk.end), both);
  tokens.insert(tokens.end(), both.begin() + std::min(std::ssize(context), std::ssize(both)),
                both.end());
}

}  // namespace pptrain
