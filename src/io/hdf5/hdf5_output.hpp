#pragma once

#include <memory>
#include <string>

#include "io/hdf5/hdf5.hpp"

namespace pptrain {

/// An HDF5 file that is written.
///
/// HDF5 (1.10.8 for one) crashes when it goes on after a write that the system refused, at the
/// latest when it closes the file, which the end of the program does too. Here it never sees a
/// refusal: from the first one on, what HDF5 writes is kept in memory, where HDF5 finds it again,
/// and the file stays as it was. Whoever writes asks with `check`.
class Hdf5Output {
 public:
  /// Creates the file (`mode` is H5F_ACC_EXCL or H5F_ACC_TRUNC) or opens it (H5F_ACC_RDWR).
  /// `access` are access properties; they get the driver that does this. Throws `Hdf5Failure`.
  void open(const std::string& path, unsigned mode, const Hdf5Handle& access);
  /// Whether there is an open file: from `open` on until `close`.
  bool is_open() const { return static_cast<bool>(file_); }

  /// The open file, which this closes.
  const Hdf5Handle& handle() const { return file_; }
  /// HDF5's identifier of the open file, which this closes.
  hid_t get() const { return file_.get(); }
  /// The `errno` of the first thing that the system has refused; 0: nothing.
  int error() const { return *error_; }
  /// Throws `Hdf5Failure`, with `action` as what failed, where the system has refused something.
  void check(const std::string& action) const;
  /// Closes the file when everything in it has been handed to the system. Throws `Hdf5Failure`
  /// where that is not so.
  void close();

 private:
  std::shared_ptr<int> error_ = std::make_shared<int>(0);  ///< shared with the driver
  Hdf5Handle file_;
};

}  // namespace pptrain
