#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenize.hpp"
#include "text/tokenizer.hpp"

namespace pptrain {

/// The tokens in front of every document and behind it.
struct DocumentFrame {
  std::vector<std::uint32_t> before;
  std::vector<std::uint32_t> behind;

  /// Tokens that each document gets beside its own.
  std::int64_t size() const { return static_cast<std::int64_t>(before.size() + behind.size()); }
};

/// What the tokenizer puts around a text, where the options want it, and the token that ends a
/// document. Throws `Error` (exit code 2) where the tokenizer has no such token.
DocumentFrame make_frame(const TokenizeOptions& options, const Tokenizer& tokenizer);

/// A token that tokenizer_config.json beside a tokenizer names, or the user.
struct TokenRole {
  const char* key;    ///< in tokenizer_config.json: "eos_token", "pad_token"
  std::string named;  ///< text of the token that the user names; "": none
  const char* wanted_by;
  const char* option;  ///< that names the token
};

/// Throws `Error` (exit code 2) where there is no such token.
std::uint32_t token_in_role(const std::string& tokenizer_path, const Tokenizer& tokenizer,
                            const TokenRole& role);

}  // namespace pptrain
