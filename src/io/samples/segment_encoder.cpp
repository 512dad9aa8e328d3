#include "io/samples/segment_encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "data/document_frame.hpp"
#include "data/document_work.hpp"

namespace pptrain {
namespace {

using Tokens = std::vector<std::uint32_t>;

/// A single text between the tokens that the tokenizer puts around it.
std::vector<PairPiece> single_pieces(const Tokenizer& tokenizer, bool special_tokens) {
  if (!special_tokens) return {{0, {}, 0}};
  return {{std::nullopt, tokenizer.prefix(), 0}, {0, {}, 0}, {std::nullopt, tokenizer.suffix(), 0}};
}

std::vector<PairPiece> pair_pieces(const Tokenizer& tokenizer, bool special_tokens) {
  if (!special_tokens) return {{0, {}, 0}, {1, {}, 1}};
  if (tokenizer.pair().empty()) {
    throw_bad_input({"--segments", "the tokenizer does not say how two texts become one sequence",
                     "its post-processor has no template of a pair",
                     "name one key, or give --no-special-tokens"});
  }
  return tokenizer.pair();
}

/// Tokens of text that fit into a sample.
std::int64_t room_of(const SegmentLayout& layout) {
  std::int64_t room = layout.length;
  for (const PairPiece& piece : layout.pieces)
    room -= static_cast<std::int64_t>(piece.tokens.size());
  return room;
}

/// How many tokens of each text are kept.
std::array<std::size_t, 2> kept_lengths(std::array<std::size_t, 2> lengths, std::size_t room) {
  if (lengths[0] + lengths[1] <= room) return lengths;
  const bool first_is_longer = lengths[0] > lengths[1];
  std::size_t& longer = lengths[first_is_longer ? 0 : 1];
  std::size_t& shorter = lengths[first_is_longer ? 1 : 0];
  if (2 * shorter > room) shorter = room / 2;
  longer = room - shorter;
  return lengths;
}

}  // namespace

SegmentLayout segment_layout(const TokenizeOptions& options, const Tokenizer& tokenizer) {
  SegmentLayout layout;
  layout.pieces = options.segment_keys.size() == 1
                      ? single_pieces(tokenizer, options.special_tokens)
                      : pair_pieces(tokenizer, options.special_tokens);
  layout.length = options.sequence_length;
  const std::int64_t room = room_of(layout);
  if (room < 1) {
    throw_bad_input({"--sequence-length",
                     fmt::format("samples of {} tokens have no room for text", layout.length),
                     fmt::format("the tokenizer puts {} tokens around each", layout.length - room),
                     "give a larger number"});
  }
  layout.padding = token_in_role(options.tokenizer, tokenizer,
                                 {"pad_token", options.padding_token, "--segments", "--pad-token"});
  return layout;
}

SegmentEncoder::SegmentEncoder(const DocumentSource& source, const Tokenizer& tokenizer,
                               const SegmentLayout& layout, const TokenizeOptions& options)
    : source_(source), encoder_(tokenizer), layout_(layout), options_(options) {}

PartSegments SegmentEncoder::operator()(const DocumentPart& part) {
  PartSegments segments;
  segments.bad_lines = for_each_text_line(
      source_, part, options_.segment_keys, "--segments", options_.skip_bad_lines,
      [&](const std::vector<std::string>& texts, const std::string& where) {
        append(texts, where, segments);
      });
  return segments;
}

void SegmentEncoder::append(const std::vector<std::string>& texts, const std::string& where,
                            PartSegments& segments) {
  std::array<Tokens, 2> tokens;
  for (std::size_t i = 0; i < texts.size(); ++i) encoder_.append(texts[i], tokens[i]);
  if (tokens[0].empty() && tokens[1].empty())
    throw_bad_input({where, "there is no token in its text",
                     "a sample of padding alone says nothing",
                     "leave the line out, by --skip-bad-lines for instance"});
  const auto kept = kept_lengths({tokens[0].size(), tokens[1].size()},
                                 static_cast<std::size_t>(room_of(layout_)));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    segments.num_cut += kept[i] < tokens[i].size() ? 1 : 0;
    tokens[i].resize(kept[i]);
  }
  std::int64_t count = 0;
  for (const PairPiece& piece : layout_.pieces) {
    const Tokens& of_piece = piece.text ? tokens[*piece.text] : piece.tokens;
    segments.tokens.insert(segments.tokens.end(), of_piece.begin(), of_piece.end());
    segments.types.insert(segments.types.end(), of_piece.size(), piece.type);
    count += static_cast<std::int64_t>(of_piece.size());
  }
  const auto padding = static_cast<std::size_t>(layout_.length - count);
  segments.tokens.insert(segments.tokens.end(), padding, layout_.padding);
  segments.types.insert(segments.types.end(), padding, 0);
  segments.mask.insert(segments.mask.end(), static_cast<std::size_t>(count), 1);
  segments.mask.insert(segments.mask.end(), padding, 0);
  segments.num_tokens += count;
}

}  // namespace pptrain
