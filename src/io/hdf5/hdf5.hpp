#pragma once

#include <hdf5.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace pptrain {

/// A call of HDF5 that failed: what was tried, and the innermost reason HDF5 gives.
/// Callers turn it into an `Error` or a warning.
class Hdf5Failure : public std::runtime_error {
 public:
  Hdf5Failure(const std::string& action, const std::string& reason)
      : std::runtime_error(action + " failed: " + reason), reason_(reason) {}
  /// Why it failed, without what was tried.
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

/// A dataset or attribute that is sound, but not of the kind or shape that is asked for.
class Hdf5Mismatch : public Hdf5Failure {
 public:
  Hdf5Mismatch(const std::string& name, const std::string& reason)
      : Hdf5Failure("reading " + name, reason), name_(name) {}
  /// Name of the dataset or attribute.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// Keeps HDF5 from printing its own error stack. Cheap; call before its first use.
void silence_hdf5();

namespace detail {
[[noreturn]] void throw_hdf5_failure(const std::string& action);
}  // namespace detail

/// Passes on what a call returned; throws `Hdf5Failure` where that is an error.
template <class Result>
Result check_hdf5(Result result, const std::string& action) {
  if (result < 0) detail::throw_hdf5_failure(action);
  return result;
}

/// An identifier of HDF5 with the function that closes it.
class Hdf5Handle {
 public:
  using Closer = herr_t (*)(hid_t);

  Hdf5Handle() = default;
  /// Throws `Hdf5Failure` when `id` says that `action` failed.
  Hdf5Handle(hid_t id, Closer closer, const std::string& action)
      : id_(check_hdf5(id, action)), closer_(closer) {}
  ~Hdf5Handle() { close(); }
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), closer_(other.closer_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    if (this != &other) {
      close();
      id_ = std::exchange(other.id_, H5I_INVALID_HID);
      closer_ = other.closer_;
    }
    return *this;
  }
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;

  /// The identifier for calls of HDF5; it stays this object's. H5I_INVALID_HID where there is none.
  hid_t get() const { return id_; }
  /// Whether there is an identifier, so that something is open.
  explicit operator bool() const { return id_ >= 0; }
  /// Closes now; false where HDF5 could not, which loses data not yet flushed.
  bool close() noexcept;

 private:
  hid_t id_ = H5I_INVALID_HID;
  Closer closer_ = nullptr;
};

/// Writes a string attribute of fixed length.
void write_attribute(hid_t object, const std::string& name, const std::string& value);

/// Writes a scalar dataset that holds a string of fixed length.
void write_string(hid_t parent, const std::string& name, const std::string& value);

/// Names of what is in a group, in alphabetical order; `what` says in a failure what was listed.
std::vector<std::string> names_in(const Hdf5Handle& group, const std::string& what);

/// Extents of a data space; none of a scalar.
std::vector<std::int64_t> shape_of(const Hdf5Handle& space);
/// "(3, 4)"
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace pptrain
