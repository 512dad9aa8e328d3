#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pptrain {

/// What a number measures. SI base units are bytes, bytes/s, seconds, FLOP/s.
enum class Quantity { bytes, bandwidth, seconds, flop_rate };

/// Reads `"16 GiB"`, `"170 Gbit/s"`, `"5 us"` or `"125 TFLOP/s"` in SI base units.
/// Nothing when the text is no finite number with a unit of this quantity.
std::optional<double> parse_quantity(std::string_view text, Quantity quantity);

/// What is wrong with a text that `parse_quantity` does not read, and what to write.
struct QuantityProblem {
  std::string reason;
  std::string suggestion;
};
QuantityProblem problem_of_quantity(std::string_view text, Quantity quantity);

/// Units that `parse_quantity` accepts, for messages: `"B, kB, ..., TiB"`.
std::string_view accepted_units(Quantity quantity);

/// For people: three significant digits and a fitting unit.
std::string format_bytes(double bytes);
std::string format_seconds(double seconds);
std::string format_bandwidth(double bytes_per_second);
std::string format_count(double count);

/// A clock time for progress lines: `1:02:03`, `2:03`.
std::string format_duration(double seconds);

}  // namespace pptrain
