#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/file_stamp.hpp"
#include "base/interval.hpp"
#include "data/token_origin.hpp"
#include "io/hdf5/hdf5_read.hpp"

namespace pptrain {

/// An HDF5 file of samples that `[data]` names: how what is wrong with it is told.
class SampleFile {
 public:
  /// What messages say of the datasets.
  struct Wording {
    const char* names;       ///< "/features and /labels"
    const char* all;         ///< "both datasets"
    const char* correction;  ///< of a dataset that is not what the model takes: "correct [model]
                             ///< input_size or the file"
  };

  /// `source`: place for messages: the configuration's file and line.
  SampleFile(std::string path, std::string source)
      : path_(std::move(path)), source_(std::move(source)), stamp_(path_) {}

  /// The path as it was given.
  const std::string& path() const { return path_; }
  /// The file as one of tokens, of which `tokenizer` is the digest.
  TokenOrigin origin(std::uint64_t tokenizer) const { return {path_, tokenizer, source_}; }
  /// Calls `open`, which opens the file and checks what is in it. Throws `Error` (exit code 2)
  /// where there is no file, or `open` throws a failure of HDF5.
  void open(const Wording& wording, const std::function<void()>& open) const;
  /// Calls `read`, which reads sample `index`, a "row" or "image" by `what`. Throws `Error` (exit
  /// code 4) where that throws a failure of HDF5, and where the file was written since it was
  /// opened.
  void read(const char* what, std::int64_t index, const std::function<void()>& read) const;
  /// Throws `Error` (exit code 4) where one of the numbers of sample `index` is not from 0 to `end`
  /// - 1, as all were when the file was opened; `no_target` passes where `is_target`.
  void check_still_below(std::int64_t end, bool is_target, std::int64_t index,
                         const std::vector<std::int64_t>& numbers) const;
  /// Throws `Error` (exit code 2).
  [[noreturn]] void refuse(const std::string& problem, const std::string& reason,
                           const std::string& suggestion) const;

 private:
  std::string path_;
  std::string source_;
  FileStamp stamp_;
};

/// The attribute of a file of samples that says what made its tokens (`digest_text`).
inline constexpr const char* tokenizer_attribute = "pptrain_tokenizer";
/// What it says; 0 where a file has none. Throws `Hdf5Failure` where it cannot be read.
std::uint64_t read_tokenizer(const Hdf5Source& source);

/// The first of `rows` rows of `columns` numbers in which one is NaN or infinity; nothing: all are
/// finite. `read` reads rows, and is called block by block, so that a large file is never in memory
/// whole.
std::optional<std::int64_t> first_row_not_finite(std::int64_t rows, std::int64_t columns,
                                                 const std::function<void(Interval, float*)>& read);

}  // namespace pptrain
