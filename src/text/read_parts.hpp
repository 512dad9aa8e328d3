#pragma once

#include <vector>

#include "text/node.hpp"
#include "text/tokenizer_parts.hpp"

namespace pptrain {

// Parts of tokenizer.json. All of them throw `Error` (exit code 2) for what is not known, with
// file, key, reason and remedy; an absent or null part does nothing.

/// A normalizer, added to `normalizer`; `depth` counts the sequences around it.
void read_normalizer(const TokenizerNode& node, Normalizer& normalizer, int depth = 0);

/// What a file says of cutting text.
struct ReadPreTokenizer {
  PreTokenizer steps;
  bool bytes = false;  ///< the last step is ByteLevel, so that words are bytes; elsewhere words are
                       ///< characters
};

/// A pre-tokenizer, added to `read`.
void read_pre_tokenizer(const TokenizerNode& node, ReadPreTokenizer& read, int depth = 0);

/// A decoder, added to `decoder`.
void read_decoder(const TokenizerNode& node, Decoder& decoder, int depth = 0);

/// The model, BPE, WordPiece or Unigram; `bytes`: words are bytes.
TokenModel read_model(const TokenizerNode& node, bool bytes);

/// The added tokens, whose numbers must be those that Hugging Face's library gives them.
std::vector<AddedToken> read_added_tokens(const TokenizerNode& node, const TokenTable& tokens);

/// What the post-processor puts in front of a text and behind it, added to the prefix and suffix of
/// `parts`, and how it makes a sequence of two texts.
void read_post_processor(const TokenizerNode& node, TokenizerParts& parts, int depth = 0);

/// A pattern as `{"Regex": "..."}` or `{"String": "..."}`.
Pattern read_pattern(const TokenizerNode& node);

/// The elements of a sequence below `key`. Refuses sequences in sequences beyond a depth that no
/// published file has.
std::vector<TokenizerNode> read_sequence(const TokenizerNode& node, const std::string& key,
                                         int depth);

/// Refuses a step, and whatever it consists of, behind `most_tokenizer_steps` or more of its kind.
void check_num_steps(const TokenizerNode& node, std::size_t before);

}  // namespace pptrain
