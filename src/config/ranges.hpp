#pragma once

#include <string>

#include "config/keys.hpp"

/// What numbers of keys may be, in few words.
namespace pptrain {

// Larger counts are typing errors, and products of two of them still fit 64 bits.
inline constexpr double max_count = 2147483647.0;

inline Range at_least(double least, const std::string& reason = "") {
  return {least, max_count, false, false, reason};
}
inline Range between(double least, double most, const std::string& reason = "") {
  return {least, most, false, false, reason};
}
inline Range positive(const std::string& reason = "") {
  return {.least = 0.0, .least_open = true, .reason = reason};
}
inline Range not_negative(const std::string& reason = "") {
  return {.least = 0.0, .reason = reason};
}
inline Range above_one(const std::string& reason) {
  return {.least = 1.0, .least_open = true, .reason = reason};
}
inline Range below_one(const std::string& reason) { return {0.0, 1.0, false, true, reason}; }

}  // namespace pptrain
