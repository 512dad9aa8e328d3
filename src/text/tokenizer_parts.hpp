#pragma once

#include <unordered_map>
#include <variant>

#include "text/added_tokens.hpp"
#include "text/bpe.hpp"
#include "text/decoder.hpp"
#include "text/normalizer.hpp"
#include "text/pre_tokenizer.hpp"
#include "text/tokenizer.hpp"
#include "text/unigram.hpp"
#include "text/word_piece.hpp"

namespace pptrain {

/// What makes tokens of words.
using TokenModel = std::variant<BpeModel, WordPieceModel, UnigramModel>;

/// The tokens of a model.
inline const TokenTable& tokens_of(const TokenModel& model) {
  return std::visit([](const auto& of_kind) -> const TokenTable& { return of_kind.tokens(); },
                    model);
}

/// What a tokenizer consists of, in the order in which text goes through it.
struct TokenizerParts {
  AddedTokenFinder raw_tokens;  ///< those looked for in the text as it is
  Normalizer normalizer;
  AddedTokenFinder normalized_tokens;  ///< those looked for behind the normalizer
  PreTokenizer pre_tokenizer;
  TokenModel model;
  Decoder decoder;
  std::vector<AddedToken> added = {};
  std::unordered_map<std::uint32_t, std::size_t> added_by_id = {};  ///< places in `added`
  std::vector<std::uint32_t> prefix = {};
  std::vector<std::uint32_t> suffix = {};
  std::vector<PairPiece> pair = {{0, {}, 0}, {1, {}, 1}};  ///< one behind the other where no
                                                           ///< post-processor says more
  std::int64_t vocabulary_size = 0;
};

}  // namespace pptrain
