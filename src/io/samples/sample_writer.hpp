#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5/hdf5_output.hpp"
#include "io/hdf5/series.hpp"

namespace pptrain {

/// A dataset of an HDF5 file of samples: a row of `length` integers for each.
struct SampleColumn {
  SeriesInfo info;
  Series::Type type = Series::Type::token;
  std::int64_t length = 1;
};

/// Writes an HDF5 file of samples, which appears whole or not at all.
///
/// What cannot be written throws `Error`: exit code 4 where the disk is full or fails, else 2.
class SampleWriter {
 public:
  /// `tokenizer`: the `tokenizer_digest` of what makes the tokens, which the file says.
  SampleWriter(const std::string& path, const std::vector<SampleColumn>& columns,
               std::uint64_t tokenizer);
  ~SampleWriter();
  SampleWriter(const SampleWriter&) = delete;
  SampleWriter& operator=(const SampleWriter&) = delete;

  /// Appends rows to the column of this number. Those of one column may be ahead of those of
  /// another until `commit`.
  void append(std::size_t column, std::span<const std::int64_t> rows);
  /// Puts the file in its place.
  void commit();

 private:
  /// Calls `work`; what HDF5 cannot do there becomes an `Error`, and the file goes.
  void guarded(const std::function<void()>& work);
  void remove_partial();

  std::string path_;
  std::string partial_;
  Hdf5Output file_;
  std::vector<Series> series_;
  bool has_partial_ = false;
};

}  // namespace pptrain
