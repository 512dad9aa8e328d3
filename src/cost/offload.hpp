#pragma once

#include <algorithm>
#include <cstddef>

namespace pptrain {

/// A chunk of offloaded optimizer state is updated on the device while another is on its way: this
/// many parameters at most, 32 MiB of AdamW's m and v, and at most an eighth of all, rounded up to
/// whole cache lines.
inline constexpr std::size_t most_offloaded_chunk_elements = std::size_t{1} << 22;

/// Parameters of a chunk on a device that has `size` of them.
inline std::size_t offloaded_chunk_elements(std::size_t size) {
  constexpr std::size_t line = 16;
  return std::clamp((size / 8 + line - 1) / line * line, line, most_offloaded_chunk_elements);
}

}  // namespace pptrain
