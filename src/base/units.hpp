#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pptrain {

/// What a number measures. SI base units are bytes, bytes/s, seconds, FLOP/s, W.
enum class Quantity { bytes, bandwidth, seconds, flop_rate, power };

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

/// Text for people: at most three significant digits and a fitting unit, "0" for what rounding
/// leaves of a sum, "-" for what is no number. Everything that is printed goes by these,
/// `src/report/page/charts.js` on the page.
std::string format_bytes(double bytes);      ///< "1.5 KiB"
std::string format_seconds(double seconds);  ///< "350 us", "12 s", "16.7 min", "3.5 h", "4 d"
std::string format_bandwidth(double bytes_per_second);  ///< "12.5 GB/s"
std::string format_count(double count);                 ///< "124M"
std::string format_flop_rate(double flop_per_second);   ///< "118 GFLOP/s"
std::string format_power(double watts);                 ///< "10.2 kW"
std::string format_energy(double kilowatt_hours);       ///< "3.46 GWh"
/// Text of an amount of money: three digits below 1000, whole numbers above, "1.25M" from a million
/// on.
std::string format_money(double amount, const std::string& currency);  ///< "98.3 USD"
/// Text of a share, 0 to 1: "55 %", "0.3 %".
std::string format_percent(double share);

/// A clock time for progress lines: `1:02:03`, `2:03`; "-" for what is no number.
std::string format_duration(double seconds);

}  // namespace pptrain
