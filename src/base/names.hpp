#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pptrain {

/// The candidate nearest to `name` by edit distance, or "" when none is near enough to be meant.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// A suggestion for messages: "did you mean \"NAME\"?" with the candidate nearest to `name`, or
/// `otherwise` where none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates,
                         const std::string& otherwise);

/// `a, b, c` for messages.
std::string join(const std::vector<std::string>& parts, std::string_view separator = ", ");

/// How many characters of UTF-8 there are.
std::size_t num_characters(std::string_view text);

/// Text in lines of at most `width` characters, broken between words; lines that are there stay,
/// the empty ones too, and those that are not too long keep their spaces.
std::string wrapped(const std::string& text, std::size_t width);

/// Text in lines of at most `width` characters as `wrapped` makes them, all but the first behind
/// `indent`.
std::string wrapped(const std::string& text, std::size_t width, const std::string& indent);

/// As a POSIX shell takes it for one word: in quotes where it must be.
std::string shell_word(std::string_view text);

/// Text from outside as a message shows it: of long text the beginning and the end, with how much
/// is left out between them; control characters but line breaks, and what is no UTF-8, as \\xNN, so
/// that they do nothing to a terminal.
std::string shown(std::string_view text);

}  // namespace pptrain
