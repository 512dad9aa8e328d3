#include "data/document_frame.hpp"

#include <fmt/format.h>

#include <optional>

#include "base/error.hpp"
#include "base/names.hpp"
#include "text/json_text.hpp"

namespace pptrain {

std::uint32_t token_in_role(const std::string& tokenizer_path, const Tokenizer& tokenizer,
                            const TokenRole& role) {
  const std::optional<std::string> name =
      role.named.empty() ? named_token(tokenizer_path, role.key) : std::optional(role.named);
  const std::string suggestion = fmt::format("name one of its tokens with {}", role.option);
  if (!name)
    throw_bad_input(
        {role.wanted_by, fmt::format("the tokenizer does not say what its {} is", role.key),
         fmt::format("there is no {} in a tokenizer_config.json beside it", role.key), suggestion});
  const std::optional<std::uint32_t> token = tokenizer.token(*name);
  if (!token)
    throw_bad_input({role.named.empty() ? role.wanted_by : role.option,
                     fmt::format("the tokenizer has no token \"{}\"", shown(*name)), "",
                     suggestion});
  return *token;
}

DocumentFrame make_frame(const TokenizeOptions& options, const Tokenizer& tokenizer) {
  DocumentFrame frame;
  if (options.special_tokens) frame = {tokenizer.prefix(), tokenizer.suffix()};
  if (options.append_end_of_document || !options.end_of_document.empty()) {
    const std::uint32_t end =
        token_in_role(options.tokenizer, tokenizer,
                      {"eos_token", options.end_of_document, "--append-eod", "--eod-token"});
    if (frame.behind.empty() || frame.behind.back() != end) frame.behind.push_back(end);
  }
  return frame;
}

}  // namespace pptrain
