#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pptrain {

/// Parts of a dotted name, and brackets inside of brackets, that a TOML text may have: more than
/// any key of ours asks for.
inline constexpr std::size_t most_toml_levels = 32;

/// The line of the first name of more than `most_toml_levels` parts in a TOML text, or of the first
/// bracket inside of so many; nothing where there is none. The functions of toml++ that make and
/// destroy tables call themselves for each level, which would end the program for want of stack.
/// What is no TOML gives any answer.
std::optional<std::int64_t> find_toml_beyond(std::string_view text);

}  // namespace pptrain
