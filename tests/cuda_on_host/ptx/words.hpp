#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Words of PTX.
namespace cuda_on_host::ptx {

/// What parts words.
constexpr const char* blanks = " \t";

/// The text without blanks at its ends.
std::string trimmed(const std::string& text);
/// The parts of a text between the letters `by`, trimmed.
std::vector<std::string> split(const std::string& text, char by);
bool begins_with(std::string_view text, std::string_view part);

/// Bytes of a type such as "u32", "b8" or "pred".
unsigned bytes_of(const std::string& type);
/// The least multiple of `alignment` that has room for `bytes`.
std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t alignment);

/// A declaration, such as `.shared .align 8 .b8 scratch[256]`, `.param .u64 name`. An array without
/// a number of elements has 0 bytes.
struct Declaration {
  std::string name;
  std::uint64_t alignment = 1, bytes = 0;
};

Declaration declaration_of(const std::string& text);

}  // namespace cuda_on_host::ptx
