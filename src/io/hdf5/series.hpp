#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "io/hdf5/hdf5.hpp"

namespace pptrain {

/// What an element that was never written reads as.
inline constexpr double missing_real = std::numeric_limits<double>::quiet_NaN();
inline constexpr std::int64_t missing_integer = -1;

/// What a series holds, for whoever opens the file.
struct SeriesInfo {
  std::string name;
  std::string units;
  std::string description;
};

/// An extendible dataset [row] or [row, column] to which rows are appended, chunked.
class Series {
 public:
  enum class Type {
    integer,
    real,
    token,
    flag
  };  ///< the first two of 64 bits, then integers of 32 and of 8

  /// `columns` = 0 makes a dataset of one dimension. A chunk has `chunk_elements` values, or a row
  /// where that is more.
  Series(hid_t group, const SeriesInfo& info, Type type, std::int64_t columns,
         std::int64_t chunk_elements = page_elements);

  /// Appends a row, or several one behind the other, and flushes them, so that a reader sees them
  /// and a kill does not lose them. Throws `Hdf5Failure`.
  void append(std::span<const std::int64_t> rows);
  /// Appends rows of real numbers, one or several. Throws `Hdf5Failure`.
  void append(std::span<const double> rows);

 private:
  static constexpr std::int64_t page_elements = 512;  // 4 KiB, a block of most file systems

  void append_rows(const void* rows, std::size_t size, hid_t memory_type);

  std::string name_;
  std::int64_t columns_;
  std::int64_t num_rows_ = 0;
  Hdf5Handle dataset_;
};

}  // namespace pptrain
