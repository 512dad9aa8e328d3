#include "base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
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
constexpr Unit bandwidth_units[] = {{"B/s", 1},        {"kB/s", 1e3},      {"MB/s", 1e6},         {"GB/s", 1e9},
                                    {"TB/s", 1e12},    {"MiB/s", ki* ki},  {"GiB/s", ki* ki* ki}, {"bit/s", 0.125},
                                    {"kbit/s", 125.0}, {"Mbit/s", 1.25e5}, {"Gbit/s", 1.25e8},    {"Tbit/s", 1.25e11}};
constexpr Unit second_units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"min", 60}, {"h", 3600}};
constexpr Unit flop_units[] = {{"FLOP/s", 1},    {"kFLOP/s", 1e3},  {"MFLOP/s", 1e6},
                               {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}};

std::span<const Unit> units_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::bytes: return byte_units;
    case Quantity::bandwidth: return bandwidth_units;
    case Quantity::seconds: return second_units;
    case Quantity::flop_rate: return flop_units;
  }
  return {};
}

/// For suggestions.
std::string_view usual_unit(Quantity quantity) {
  switch (quantity) {
    case Quantity::bytes: return "GB";
    case Quantity::bandwidth: return "GB/s";
    case Quantity::seconds: return "s";
    case Quantity::flop_rate: return "TFLOP/s";
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
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

/// The unit whose name differs from this one in case at most; null: none.
const Unit* unit_in_other_case(std::string_view name, Quantity quantity) {
  for (const Unit& unit : units_of(quantity)) {
    if (equal_but_for_case(unit.name, name)) return &unit;
  }
  return nullptr;
}

std::string scaled(double value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (std::abs(value) >= unit.factor) best = &unit;
  }
  const double number = value / best->factor;  // four digits before a step of 1024 or the last unit
  const bool long_number = std::abs(number) >= 999.5;
  return (long_number ? fmt::format("{:.0f} ", number) : fmt::format("{:.3g} ", number)) + std::string(best->name);
}

}  // namespace

std::optional<double> parse_quantity(std::string_view text, Quantity quantity) {
  const Split parts = split(text);
  if (!parts.value) return std::nullopt;
  for (const Unit& unit : units_of(quantity)) {
    if (unit.name == parts.unit && std::isfinite(*parts.value * unit.factor)) return *parts.value * unit.factor;
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
    return {"it has no unit",
            fmt::format("write for instance {}; {} without quotes is in {}", example, parts.number, base)};
  }
  if (meant != nullptr && meant->name == parts.unit) return {"it is too large", units};
  const std::string reason = fmt::format("\"{}\" is no unit of this key", parts.unit);
  return {reason, meant != nullptr ? fmt::format("did you mean {}?", example) : units};
}

std::string_view accepted_units(Quantity quantity) {
  switch (quantity) {
    case Quantity::bytes: return "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB";
    case Quantity::bandwidth: return "B/s, kB/s, MB/s, GB/s, TB/s, MiB/s, GiB/s, bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s";
    case Quantity::seconds: return "ns, us, ms, s, min, h";
    case Quantity::flop_rate: return "FLOP/s, kFLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, PFLOP/s";
  }
  return "";
}

std::string format_bytes(double bytes) {
  static constexpr std::array<Unit, 5> units = {
      {{"B", 1}, {"KiB", ki}, {"MiB", ki * ki}, {"GiB", ki * ki * ki}, {"TiB", ki * ki * ki * ki}}};
  return scaled(bytes, units);
}

std::string format_seconds(double seconds) {
  static constexpr std::array<Unit, 4> units = {{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  if (seconds == 0.0) return "0 s";
  return scaled(seconds, units);
}

std::string format_bandwidth(double bytes_per_second) {
  static constexpr std::array<Unit, 4> units = {{{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}}};
  return scaled(bytes_per_second, units);
}

std::string format_count(double count) {
  static constexpr std::array<Unit, 5> units = {{{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}};
  std::string text = scaled(count, units);
  std::erase(text, ' ');
  return text;
}

std::string format_duration(double seconds) {
  const auto total = static_cast<long long>(std::llround(std::max(0.0, seconds)));
  if (total >= 3600) return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
  return fmt::format("{}:{:02}", total / 60, total % 60);
}

}  // namespace pptrain
