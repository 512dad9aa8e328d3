#pragma once

#include <string>
#include <string_view>

namespace pptrain {

/// A regular expression in Oniguruma's language, which Hugging Face's tokenizers are written in, as
/// PCRE2 is to read it.
///
/// Classes of characters get the meaning that Oniguruma gives them (`\s` is White_Space, `\w`
/// Alphabetic, marks, decimal digits and connectors). What means one thing there and another in
/// PCRE2, or is not known to mean the same, throws `Error` (exit code 2) with `where` as the place,
/// so that no text is cut elsewhere without a word: sets inside of sets, `&&`, intervals that are
/// repeated, back references, options inside of a pattern, rare escapes.
std::string to_pcre2(std::string_view expression, const std::string& where);

}  // namespace pptrain
