#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace pptrain {

/// A safetensors file of this header and data; `length` in place of the header's own where one is
/// given.
inline std::string safetensors(std::string_view header, std::string_view data,
                               std::int64_t length = -1) {
  const std::uint64_t promised = length < 0 ? header.size() : static_cast<std::uint64_t>(length);
  std::string file(sizeof promised, '\0');
  std::memcpy(file.data(), &promised, sizeof promised);
  return file.append(header).append(data);
}

/// The bytes of floats.
inline std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

}  // namespace pptrain
