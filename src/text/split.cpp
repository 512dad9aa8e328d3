#include "text/split.hpp"

#include <algorithm>

#include "text/utf8.hpp"

namespace pptrain {
namespace {

struct SplitPart {
  TextRange range;
  bool match = false;
};

/// The whole text as parts that match and parts between. An empty match cuts what it lies in, but
/// one right behind another match is none.
std::vector<SplitPart> matches_and_gaps(const SplitRule& rule, std::string_view text,
                                        MatchMemory& memory) {
  std::vector<SplitPart> parts;
  std::size_t done = 0;  // the end of the last match
  bool any = false;
  for (std::size_t from = 0; from <= text.size();) {
    const std::optional<TextRange> found = rule.pattern.find(text, from, memory);
    if (!found) break;
    if (found->begin == found->end && any && found->end == done) {
      if (found->end == text.size()) break;
      from = found->end + code_point_at(text, found->end).size;
      continue;
    }
    if (found->begin != done) parts.push_back({{done, found->begin}, rule.invert});
    parts.push_back({*found, !rule.invert});
    from = done = found->end;
    any = true;
  }
  if (done != text.size()) parts.push_back({{done, text.size()}, rule.invert});
  return parts;
}

std::vector<TextRange> merged_forward(const std::vector<SplitPart>& parts, bool contiguous) {
  std::vector<TextRange> pieces;
  bool previous = false;
  for (const SplitPart& part : parts) {
    const bool joins = contiguous ? part.match == previous : part.match && !previous;
    if (joins && !pieces.empty()) {
      pieces.back().end = part.range.end;
    } else {
      pieces.push_back(part.range);
    }
    previous = part.match;
  }
  return pieces;
}

std::vector<TextRange> merged_backward(const std::vector<SplitPart>& parts) {
  std::vector<TextRange> pieces;
  bool previous = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->match && !previous && !pieces.empty()) {
      pieces.back().begin = part->range.begin;
    } else {
      pieces.push_back(part->range);
    }
    previous = part->match;
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

std::vector<TextRange> combined(const std::vector<SplitPart>& parts, SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::merged_with_previous: return merged_forward(parts, false);
    case SplitBehavior::merged_with_next: return merged_backward(parts);
    case SplitBehavior::contiguous: return merged_forward(parts, true);
    case SplitBehavior::isolated:
    case SplitBehavior::removed: break;
  }
  std::vector<TextRange> pieces;
  pieces.reserve(parts.size());
  for (const SplitPart& part : parts)
    if (!part.match || behavior == SplitBehavior::isolated) pieces.push_back(part.range);
  return pieces;
}

}  // namespace

std::vector<TextRange> split(const SplitRule& rule, std::string_view text, MatchMemory& memory) {
  std::vector<TextRange> pieces = combined(matches_and_gaps(rule, text, memory), rule.behavior);
  std::erase_if(pieces, [](const TextRange& piece) { return piece.begin == piece.end; });
  return pieces;
}

}  // namespace pptrain
