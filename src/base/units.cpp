#include "base/units.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <span>

namespace pptrain {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double ki = 1024.0;
constexpr Unit byte_units[] = {{"B", 1},        {"kB", 1e3},         {"MB", 1e6},
                               {"GB", 1e9},     {"TB", 1e12},        {"KiB", ki},
                               {"MiB", ki* ki}, {"GiB", ki* ki* ki}, {"TiB", ki* ki* ki* ki}};
constexpr Unit bandwidth_units[] = {
    {"B/s", 1},        {"kB/s", 1e3},      {"MB/s", 1e6},         {"GB/s", 1e9},
    {"TB/s", 1e12},    {"MiB/s", ki* ki},  {"GiB/s", ki* ki* ki}, {"bit/s", 0.125},
    {"kbit/s", 125.0}, {"Mbit/s", 1.25e5}, {"Gbit/s", 1.25e8},    {"Tbit/s", 1.25e11},
    {"kb/s", 125.0},   {"Mb/s", 1.25e5},   {"Gb/s", 1.25e8},      {"Tb/s", 1.25e11},
    {"kbps", 125.0},   {"Mbps", 1.25e5},   {"Gbps", 1.25e8},      {"Tbps", 1.25e11}};
constexpr Unit second_units[] = {{"s", 1},     {"ms", 1e-3}, {"us", 1e-6},
                                 {"ns", 1e-9}, {"min", 60},  {"h", 3600}};
constexpr Unit power_units[] = {{"W", 1}, {"kW", 1e3}, {"MW", 1e6}};
constexpr Unit flop_units[] = {{"FLOP/s", 1},    {"kFLOP/s", 1e3},  {"MFLOP/s", 1e6},
                               {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}};

std::span<const Unit> units_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::bytes: return byte_units;
    case Quantity::bandwidth: return bandwidth_units;
    case Quantity::seconds: return second_units;
    case Quantity::flop_rate: return flop_units;
    case Quantity::power: return power_units;
  }
  return {};
}

/// An example for suggestions.
std::string_view usual_unit(Quantity quantity) {
  switch (quantity) {
    case Quantity::bytes: return "GB";
    case Quantity::bandwidth: return "GB/s";
    case Quantity::seconds: return "s";
    case Quantity::flop_rate: return "TFLOP/s";
    case Quantity::power: return "kW";
  }
  return "";
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// A text as number and unit.
struct Split {
  std::string_view number;  ///< empty: the text begins with none
  std::string_view unit;
  std::optional<double> value;  ///< of the number, where it is finite
};

Split split(std::string_view text) {
  text = trim(text);
  double number = 0.0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto length = static_cast<std::size_t>(rest - text.data());
  Split result = {text.substr(0, length), trim(text.substr(length)), std::nullopt};
  if (error == std::errc() && std::isfinite(number)) result.value = number;
  return result;
}

bool equal_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

/// The unit whose name differs from this one in case at most; null: none.
const Unit* unit_in_other_case(std::string_view name, Quantity quantity) {
  for (const Unit& unit : units_of(quantity)) {
    if (equal_but_for_case(unit.name, name)) return &unit;
  }
  return nullptr;
}

/// Three significant digits without trailing zeros; whole numbers of up to five digits in full.
std::string digits(double number) {
  const double size = std::abs(number);
  if (size >= 99999.5) return fmt::format("{:.3g}", number);
  return size >= 999.5 ? fmt::format("{:.0f}", number) : fmt::format("{:.3g}", number);
}

/// The value in the first unit in which fewer than the next one's worth is left after rounding:
/// 999.95 ms are 1 s. What is less than `least` is what rounding leaves of a sum, and 0.
std::string scaled(double value, std::span<const Unit> units, double least) {
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return value > 0.0 ? "infinite" : "-infinite";
  if (std::abs(value) < least) value = 0.0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const double number = value / units[i].factor;
    const double size = std::abs(number);
    const double rounded = size >= 999.5
                               ? std::round(size)
                               : std::strtod(fmt::format("{:.3g}", size).c_str(), nullptr);
    const bool fits = i + 1 == units.size() || rounded < units[i + 1].factor / units[i].factor;
    if (fits) return fmt::format("{} {}", digits(number), units[i].name);
  }
  return "";
}

}  // namespace

std::optional<double> parse_quantity(std::string_view text, Quantity quantity) {
  const Split parts = split(text);
  if (!parts.value) return std::nullopt;
  for (const Unit& unit : units_of(quantity)) {
    if (unit.name == parts.unit && std::isfinite(*parts.value * unit.factor))
      return *parts.value * unit.factor;
  }
  return std::nullopt;
}

QuantityProblem problem_of_quantity(std::string_view text, Quantity quantity) {
  const Split parts = split(text);
  const std::string units = fmt::format("write a number and one of {}", accepted_units(quantity));
  if (parts.number.empty()) return {"it does not begin with a number", units};
  if (!parts.value) return {"its number is not finite, or too large", units};
  const Unit* meant = unit_in_other_case(parts.unit, quantity);
  const std::string_view unit = meant != nullptr ? meant->name : usual_unit(quantity);
  const std::string example = fmt::format("\"{} {}\"", parts.number, unit);
  if (parts.unit.empty()) {
    const std::string_view base = units_of(quantity).front().name;
    return {"it has no unit", fmt::format("write for instance {}; {} without quotes is in {}",
                                          example, parts.number, base)};
  }
  if (meant != nullptr && meant->name == parts.unit) return {"it is too large", units};
  const std::string reason = fmt::format("\"{}\" is no unit of this key", parts.unit);
  return {reason, meant != nullptr ? fmt::format("did you mean {}?", example) : units};
}

std::string_view accepted_units(Quantity quantity) {
  switch (quantity) {
    case Quantity::bytes: return "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB";
    case Quantity::bandwidth:
      return "B/s, kB/s, MB/s, GB/s, TB/s, MiB/s, GiB/s, bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s";
    case Quantity::seconds: return "ns, us, ms, s, min, h";
    case Quantity::flop_rate: return "FLOP/s, kFLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, PFLOP/s";
    case Quantity::power: return "W, kW, MW";
  }
  return "";
}

std::string format_bytes(double bytes) {
  static constexpr Unit units[] = {{"B", 1},
                                   {"KiB", ki},
                                   {"MiB", ki * ki},
                                   {"GiB", ki * ki * ki},
                                   {"TiB", ki * ki * ki * ki},
                                   {"PiB", ki * ki * ki * ki * ki}};
  return scaled(bytes, units, 0.5);
}

std::string format_seconds(double seconds) {
  static constexpr Unit units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  static constexpr Unit long_units[] = {{"min", 60}, {"h", 3600}, {"d", 86400}};
  constexpr double least = 1e-11;
  const double size = std::abs(seconds);
  if (size < least) return "0 s";
  if (size < 999.5) return scaled(seconds, units, least);
  // A unit of time is left where three of the next one are reached.
  if (size < 3.0 * 3600) return scaled(seconds, {long_units, 1}, least);
  return size < 3.0 * 86400 ? scaled(seconds, {long_units + 1, 1}, least)
                            : scaled(seconds, {long_units + 2, 1}, least);
}

std::string format_bandwidth(double bytes_per_second) {
  static constexpr Unit units[] = {
      {"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};
  return scaled(bytes_per_second, units, 1e-6);
}

std::string format_count(double count) {
  static constexpr Unit units[] = {{"", 1},    {"k", 1e3},  {"M", 1e6},
                                   {"G", 1e9}, {"T", 1e12}, {"P", 1e15}};
  std::string text = scaled(count, units, 1e-6);
  std::erase(text, ' ');
  return text;
}

std::string format_flop_rate(double flop_per_second) {
  return scaled(flop_per_second, flop_units, 1e-6);
}

std::string format_power(double watts) { return scaled(watts, power_units, 1e-6); }

std::string format_energy(double kilowatt_hours) {
  static constexpr Unit units[] = {
      {"Wh", 1e-3}, {"kWh", 1}, {"MWh", 1e3}, {"GWh", 1e6}, {"TWh", 1e9}};
  return scaled(kilowatt_hours, units, 1e-9);
}

std::string format_money(double amount, const std::string& currency) {
  if (!std::isfinite(amount)) return "-";
  const double size = std::abs(amount);
  if (size > 0.0 && size < 0.001) return fmt::format("{:.2e} {}", amount, currency);
  if (size < 999.5) return fmt::format("{:.3g} {}", amount, currency);
  if (size < 999999.5) return fmt::format("{:.0f} {}", amount, currency);
  return fmt::format("{} {}", format_count(amount), currency);
}

std::string format_percent(double share) {
  if (!std::isfinite(share)) return "-";
  const double percent = 100.0 * share;
  const double size = std::abs(percent);
  if (size < 1e-9) return "0 %";
  if (size < 0.05) return percent > 0.0 ? "< 0.1 %" : "> -0.1 %";
  if (size >= 9.95) return fmt::format("{:.0f} %", percent);
  const std::string text = fmt::format("{:.1f}", percent);
  return (text.ends_with(".0") ? text.substr(0, text.size() - 2) : text) + " %";
}

std::string format_duration(double seconds) {
  constexpr double longest = 1000.0 * 365 * 86400;
  if (!(seconds < longest)) return "-";
  const auto total = static_cast<long long>(std::llround(std::max(0.0, seconds)));
  if (total >= 3600)
    return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
  return fmt::format("{}:{:02}", total / 60, total % 60);
}

}  // namespace pptrain
