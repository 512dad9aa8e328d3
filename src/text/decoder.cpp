#include "text/decoder.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "text/byte_alphabet.hpp"
#include "text/utf8.hpp"

namespace pptrain {
namespace {

std::string concatenated(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

/// The byte of a token as `<0x41>`.
std::optional<char> byte_of_token(const std::string& token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  unsigned byte = 0;
  const std::from_chars_result read = std::from_chars(&token[3], &token[5], byte, 16);
  return read.ptr == &token[5] ? std::optional(static_cast<char>(byte)) : std::nullopt;
}

/// The bytes as one token, or a sign of a mistake for each where they are no text.
void append_bytes(std::string& bytes, std::vector<std::string>& tokens) {
  if (bytes.empty()) return;
  if (is_utf8(bytes)) {
    tokens.push_back(bytes);
  } else {
    tokens.insert(tokens.end(), bytes.size(), "\xEF\xBF\xBD");
  }
  bytes.clear();
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, done)) {
    out.append(text, done, at - done).append(to);
    done = at + from.size();
  }
  if (done > 0) text = out.append(text, done);
}

/// What the limit of growth counts: a decoder may put a space between tokens.
std::size_t size_with_spaces(const std::vector<std::string>& tokens) {
  std::size_t size = tokens.size();
  for (const std::string& token : tokens) size += token.size();
  return size;
}

/// The replacements of Hugging Face's library, in its order.
void clean_up(std::string& token) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> replacements = {
      {{" .", "."},
       {" ?", "?"},
       {" !", "!"},
       {" ,", ","},
       {" ' ", "'"},
       {" n't", "n't"},
       {" 'm", "'m"},
       {" do not", " don't"},
       {" 's", "'s"},
       {" 've", "'ve"},
       {" 're", "'re"}}};
  for (const auto& [from, to] : replacements) replace_all(token, from, to);
}

struct DecodeTokens {
  std::vector<std::string>& tokens;
  const GrowthLimit& limit;
  MatchMemory& memory;

  void operator()(DecodeByteLevel) const {
    std::string bytes;
    for (const std::string& token : tokens) bytes += bytes_of_characters(token).value_or(token);
    tokens = {repaired_utf8(bytes).text};
  }

  void operator()(DecodeByteFallback) const {
    std::vector<std::string> out;
    std::string bytes;
    for (const std::string& token : tokens) {
      if (const std::optional<char> byte = byte_of_token(token)) {
        bytes += *byte;
      } else {
        append_bytes(bytes, out);
        out.push_back(token);
      }
    }
    append_bytes(bytes, out);
    tokens = std::move(out);
  }

  void operator()(DecodeFuse) const { tokens = {concatenated(tokens)}; }

  void operator()(const DecodeStrip& strip) const {
    for (std::string& token : tokens) {
      std::size_t begin = 0;
      std::size_t end = token.size();
      for (std::size_t i = 0; i < strip.start && begin < end; ++i) {
        const CodePoint first = code_point_at(token, begin);
        if (first.value != strip.character) break;
        begin += first.size;
      }
      for (std::size_t i = 0; i < strip.stop && begin < end; ++i) {
        const CodePoint last = code_point_before(token, end);
        if (last.value != strip.character) break;
        end -= last.size;
      }
      token = token.substr(begin, end - begin);
    }
  }

  void operator()(const DecodeMetaspace& metaspace) const {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::string text;
      for (std::size_t at = 0; at < tokens[i].size();) {
        const CodePoint character = code_point_at(tokens[i], at);
        at += character.size;
        if (character.value != metaspace.mark) {
          append_utf8(text, character.value);
        } else if (i > 0 || !metaspace.prepended) {
          text += ' ';
        }
      }
      tokens[i] = std::move(text);
    }
  }

  void operator()(const DecodeWordPiece& pieces) const {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0 && tokens[i].starts_with(pieces.inside_prefix)) {
        tokens[i].erase(0, pieces.inside_prefix.size());
      } else if (i > 0) {
        tokens[i].insert(0, 1, ' ');
      }
      if (pieces.cleans_up) clean_up(tokens[i]);
    }
  }

  void operator()(const ReplaceText& rule) const {
    std::size_t size = tokens.size();
    for (std::string& token : tokens) {
      token = replaced_matches(rule, token, limit, memory);
      limit.check(size += token.size());
    }
  }
};

}  // namespace

std::string Decoder::text(std::vector<std::string> tokens, MatchMemory& memory) const {
  const std::size_t before = size_with_spaces(tokens);
  for (const PlacedStep& placed : steps_) {
    const GrowthLimit limit(before, placed.where);
    std::visit(DecodeTokens{tokens, limit, memory}, placed.step);
    limit.check(size_with_spaces(tokens));
  }
  if (!separates()) return concatenated(tokens);
  std::string text;
  for (const std::string& token : tokens) text += (text.empty() ? "" : " ") + token;
  return text;
}

}  // namespace pptrain
