#include "io/samples/tokenize_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.hpp"
#include "data/dataset.hpp"
#include "data/document_encoder.hpp"
#include "data/document_work.hpp"
#include "io/samples/sample_writer.hpp"
#include "io/samples/segment_encoder.hpp"

namespace pptrain {
namespace {

using Row = std::vector<std::int64_t>;

void append(const std::vector<std::uint32_t>& tokens, Row& rows) {
  rows.insert(rows.end(), tokens.begin(), tokens.end());
}

/// Appends tokens between those of a frame.
void append_framed(const DocumentFrame& frame, const std::vector<std::uint32_t>& tokens,
                   Row& rows) {
  append(frame.before, rows);
  append(tokens, rows);
  append(frame.behind, rows);
}

/// Tokens of text that fit into a sample. Throws `Error` (exit code 2) where there is no room for
/// any.
std::int64_t room_in(std::int64_t length, const DocumentFrame& frame, const char* option) {
  const std::int64_t room = length - frame.size();
  if (room < 1) {
    throw_bad_input({option, fmt::format("samples of {} tokens have no room for text", length),
                     fmt::format("the tokenizer puts {} tokens around each", frame.size()),
                     "give a larger number"});
  }
  return room;
}

/// Lays documents one behind another and cuts them into samples.
class SamplePacker {
 public:
  SamplePacker(const DocumentFrame& frame, const TokenizeOptions& options, std::uint64_t tokenizer)
      : frame_(frame),
        room_(room_in(options.sequence_length, frame, "--sequence-length")),
        writer_(options.output,
                {{{"input_ids", "1", "tokens of each sample"},
                  Series::Type::token,
                  options.sequence_length},
                 {{"token_type_ids", "1", "type of each token"},
                  Series::Type::flag,
                  options.sequence_length}},
                tokenizer) {}

  void append(std::span<const std::uint32_t> tokens) {
    for (const std::uint32_t token : tokens) {
      content_.push_back(token);
      if (static_cast<std::int64_t>(content_.size()) == room_) end_sample();
    }
    write();
  }

  std::int64_t num_samples() const { return num_samples_; }
  void commit() { writer_.commit(); }

 private:
  void end_sample() {
    append_framed(frame_, content_, rows_);
    content_.clear();
    ++num_samples_;
  }

  void write() {
    writer_.append(0, rows_);
    writer_.append(1, Row(rows_.size(), 0));
    rows_.clear();
  }

  const DocumentFrame& frame_;
  std::int64_t room_;
  SampleWriter writer_;
  std::vector<std::uint32_t> content_;  ///< of the present sample
  Row rows_;                            ///< samples that are not written yet
  std::int64_t num_samples_ = 0;
};

/// The pairs of a part.
struct PartPairs {
  Row sources, targets;
  std::int64_t num_tokens = 0;
  std::int64_t num_cut = 0;
  BadLines bad_lines;
};

/// What every pair has in common.
struct PairLayout {
  DocumentFrame frame;
  std::int64_t source_length = 0;
  std::int64_t target_length = 0;
  std::int64_t padding = 0;
};

/// Makes the samples of pairs, on one thread.
class PairEncoder {
 public:
  PairEncoder(const DocumentSource& source, const Tokenizer& tokenizer, const PairLayout& layout,
              const TokenizeOptions& options)
      : source_(source), encoder_(tokenizer), layout_(layout), options_(options) {}

  PartPairs operator()(const DocumentPart& part) {
    PartPairs pairs;
    pairs.bad_lines =
        for_each_text_line(source_, part, options_.pair_keys, "--pairs", options_.skip_bad_lines,
                           [&](const std::vector<std::string>& texts, const std::string& where) {
                             append(texts, where, pairs);
                           });
    return pairs;
  }

 private:
  void append(const std::vector<std::string>& texts, const std::string& where, PartPairs& pairs) {
    std::vector<std::uint32_t> source, target;
    encoder_.append(options_.source_prefix + texts[0], source);
    encoder_.append(texts[1], target);
    if (source.empty() && layout_.frame.size() == 0) {
      throw_bad_input({where,
                       fmt::format("the text below \"{}\" has no token", options_.pair_keys[0]),
                       "a source of padding alone says nothing",
                       "leave the line out, by --skip-bad-lines for instance"});
    }
    append(source, layout_.source_length, layout_.padding, pairs.sources, pairs);
    append(target, layout_.target_length, no_target, pairs.targets, pairs);
  }

  /// Appends the tokens of a text with those around it, cut or filled up to `length`.
  void append(std::vector<std::uint32_t>& tokens, std::int64_t length, std::int64_t filling,
              Row& rows, PartPairs& pairs) const {
    const auto room = static_cast<std::size_t>(length - layout_.frame.size());
    if (tokens.size() > room) {
      tokens.resize(room);
      ++pairs.num_cut;
    }
    append_framed(layout_.frame, tokens, rows);
    const std::int64_t count = layout_.frame.size() + static_cast<std::int64_t>(tokens.size());
    rows.insert(rows.end(), static_cast<std::size_t>(length - count), filling);
    pairs.num_tokens += count;
  }

  const DocumentSource& source_;
  TextEncoder encoder_;
  const PairLayout& layout_;
  const TokenizeOptions& options_;
};

PairLayout pair_layout(const TokenizeOptions& options, const Tokenizer& tokenizer) {
  PairLayout layout;
  layout.frame = make_frame(options, tokenizer);
  layout.target_length = options.sequence_length;
  layout.source_length =
      options.source_length > 0 ? options.source_length : options.sequence_length;
  room_in(layout.target_length, layout.frame, "--sequence-length");
  room_in(layout.source_length, layout.frame, "--source-length");
  layout.padding = token_in_role(options.tokenizer, tokenizer,
                                 {"pad_token", options.padding_token, "--pairs", "--pad-token"});
  return layout;
}

void refuse_text_without_lines(const TokenizeOptions& options) {
  const bool pairs = !options.pair_keys.empty();
  for (const std::string& path : options.texts) {
    if (path.ends_with(".jsonl")) continue;
    throw_bad_input(
        {path, pairs ? "there are no pairs in it" : "there are no segments in it",
         "they are in the lines of a .jsonl file, an object each",
         fmt::format("name a .jsonl file, or leave {} out", pairs ? "--pairs" : "--segments")});
  }
}

void make_pairs(const TokenizeOptions& options, const Tokenizer& tokenizer, DocumentSource& source,
                TokenizeResult& result) {
  const PairLayout layout = pair_layout(options, tokenizer);
  SampleWriter writer(options.output,
                      {{{"source", "1", "tokens that are read, filled up with padding"},
                        Series::Type::token,
                        layout.source_length},
                       {{"target", "1", "tokens that are predicted, -100 behind their end"},
                        Series::Type::token,
                        layout.target_length}},
                      tokenizer_digest(tokenizer));
  result.num_bytes = work_on_parts(
      options, source, [&] { return PairEncoder(source, tokenizer, layout, options); },
      [&](const PartPairs& part) {
        writer.append(0, part.sources);
        writer.append(1, part.targets);
        result.num_samples += static_cast<std::int64_t>(part.targets.size()) / layout.target_length;
        result.num_cut += part.num_cut;
        result.bad_lines.add(part.bad_lines);
        return result.num_tokens += part.num_tokens;
      });
  check_some_lines_are_good(options, result.bad_lines, result.num_samples);
  if (result.num_samples == 0)
    throw_bad_input({options.texts.front(), "there is no pair in it", "", "name other texts"});
  writer.commit();
}

void make_segments(const TokenizeOptions& options, const Tokenizer& tokenizer,
                   DocumentSource& source, TokenizeResult& result) {
  const SegmentLayout layout = segment_layout(options, tokenizer);
  SampleWriter writer(
      options.output,
      {{{"input_ids", "1", "tokens of each sample"}, Series::Type::token, layout.length},
       {{"token_type_ids", "1", "type of each token"}, Series::Type::flag, layout.length},
       {{"attention_mask", "1", "0 at padding"}, Series::Type::flag, layout.length}},
      tokenizer_digest(tokenizer));
  result.num_bytes = work_on_parts(
      options, source, [&] { return SegmentEncoder(source, tokenizer, layout, options); },
      [&](const PartSegments& part) {
        writer.append(0, part.tokens);
        writer.append(1, part.types);
        writer.append(2, part.mask);
        result.num_samples += static_cast<std::int64_t>(part.tokens.size()) / layout.length;
        result.num_cut += part.num_cut;
        result.bad_lines.add(part.bad_lines);
        return result.num_tokens += part.num_tokens;
      });
  check_some_lines_are_good(options, result.bad_lines, result.num_samples);
  if (result.num_samples == 0)
    throw_bad_input({options.texts.front(), "there is no text in it", "", "name other texts"});
  writer.commit();
}

void make_masked_text(const TokenizeOptions& options, const Tokenizer& tokenizer,
                      DocumentSource& source, TokenizeResult& result) {
  const DocumentFrame frame = make_frame(options, tokenizer);
  const DocumentFrame between = {{}, frame.behind};
  SamplePacker packer(frame, options, tokenizer_digest(tokenizer));
  std::int64_t good = 0;
  result.num_bytes = work_on_parts(
      options, source, [&] { return DocumentEncoder(source, tokenizer, between, options); },
      [&](const PartTokens& part) {
        packer.append(part.tokens);
        good += std::ssize(part.ends);
        result.bad_lines.add(part.bad_lines);
        result.num_samples = packer.num_samples();
        return result.num_tokens = result.num_samples * options.sequence_length;
      });
  check_some_lines_are_good(options, result.bad_lines, good);
  if (result.num_samples == 0) {
    throw_bad_input({options.texts.front(),
                     fmt::format("the text fills no sample of {} tokens", options.sequence_length),
                     "", "name more text, or give a smaller --sequence-length"});
  }
  packer.commit();
}

}  // namespace

TokenizeResult tokenize_samples(const TokenizeOptions& options) {
  check_tokenize_options(options, {});
  const bool has_lines = !options.pair_keys.empty() || !options.segment_keys.empty();
  if (has_lines) refuse_text_without_lines(options);
  if (!has_lines && !options.padding_token.empty()) {
    throw_bad_input({"--pad-token", "no sample is filled up", "text is cut so that each is full",
                     "leave it out, or give --pairs or --segments"});
  }
  const Tokenizer tokenizer = Tokenizer::read(options.tokenizer);
  DocumentSource source(options.texts, tokenizer, options.part_bytes);
  source.warn_of_replaced_bytes();
  TokenizeResult result;
  result.vocabulary_size = tokenizer.vocabulary_size();
  if (!options.pair_keys.empty()) {
    make_pairs(options, tokenizer, source, result);
  } else if (!options.segment_keys.empty()) {
    make_segments(options, tokenizer, source, result);
  } else {
    make_masked_text(options, tokenizer, source, result);
  }
  return result;
}

}  // namespace pptrain
