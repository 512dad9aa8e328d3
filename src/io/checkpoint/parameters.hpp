#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/hdf5/hdf5.hpp"

namespace pptrain {

/// The /parameters of an HDF5 file: one dataset per logical parameter, whole.
class ParameterFile {
 public:
  /// A file that is missing, no HDF5 file, or without /parameters throws `Error` (exit code 2).
  /// Every rank may open the same file; nothing is collective.
  explicit ParameterFile(const std::string& path);

  /// Names of all parameters in the file, sorted.
  std::vector<std::string> names() const;

  /// The parameter as row-major values. One that is missing, of another shape, no floating-point
  /// number, unreadable or with values that are not finite throws `Error` (exit code 2).
  std::vector<float> read(const std::string& name, const std::vector<std::int64_t>& shape) const;

 private:
  std::string path_;
  Hdf5Handle file_;
  Hdf5Handle group_;
};

}  // namespace pptrain
