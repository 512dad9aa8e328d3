#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pptrain {

/// What a sweep varies, or holds at one value.
struct SweepAxis {
  enum class Kind { cluster, nodes, batch, setting, price };
  Kind kind = Kind::setting;
  std::string name;  ///< for people: "cluster", "dgx-h100", "batch", "recompute"
  std::string key;   ///< of a setting "parallelism.recompute"; of nodes and prices the name of the
                     ///< kind
  std::vector<std::string> values;  ///< as they were written, in their order

  /// Whether it has several values.
  bool is_varied() const { return values.size() > 1; }
  /// Whether all values are numbers, so that they have an order.
  bool is_numeric() const;
};

/// The number that a value is; NaN where it is none.
double value_number(const std::string& value);

/// "1,2,4" at its commas; those in brackets, braces and quotes separate nothing, nor do spaces
/// around a value count. An empty value throws `Error` (exit code 2) with `place`.
std::vector<std::string> listed_values(const std::string& text, const std::string& place);

/// Numbers of nodes "1..8" or "0,1,2,4" as values; what is no whole number from 0 to 10^6 throws
/// `Error` (exit code 2).
std::vector<std::string> node_counts(const std::string& text, const std::string& place);

/// KEY=VALUES of an option, at its first "=". One without key or values throws `Error` (exit code
/// 2), which shows `example`.
struct KeyValues {
  std::string key;
  std::string values;
};
KeyValues key_values(const std::string& text, const std::string& option,
                     const std::string& example);

/// All combinations of the axes' values, the last axis fastest, as a value of each axis.
std::vector<std::vector<std::string>> all_points(const std::vector<SweepAxis>& axes);

}  // namespace pptrain
