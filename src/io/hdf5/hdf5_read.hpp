#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/interval.hpp"
#include "io/hdf5/hdf5.hpp"

/// Reading HDF5 files of strangers. Everything that is read from such a file goes through
/// `Hdf5Array`.
namespace pptrain {

/// An HDF5 file, open for reading.
struct Hdf5Source {
  Hdf5Handle file;
  bool left_open = false;  ///< its writer has it in SWMR mode, or was killed in it
};

/// Opens a file for reading after a look at its superblock; one that its writer has left in SWMR
/// mode is opened in that mode. What a damaged file makes HDF5 try again is bounded to a moment.
/// Throws `Hdf5Failure`.
Hdf5Source open_to_read(const std::string& path);

/// Opens a group. Links to other files are refused. Throws `Hdf5Failure`.
Hdf5Handle open_group(const Hdf5Handle& parent, const std::string& name);

/// What is asked of a dataset or attribute; whatever is not so is refused.
struct Hdf5Expected {
  enum class Kind { integer, real, fp32, text };  ///< fp32: little-endian, as a checkpoint has it

  static constexpr std::int64_t any = -1;

  Kind kind = Kind::integer;
  std::vector<std::int64_t> shape;  ///< extents, `any` where the file decides; none of a single
                                    ///< value
  std::int64_t most_bytes = 0;      ///< of all values in memory, where a number has 8
  bool any_shape = false;           ///< all shapes are welcome
};

/// A dataset or attribute of an open file that was found to be what is expected. Its values are in
/// the file itself: no link to another file, no external storage, no virtual dataset; standard
/// types and the filters deflate, shuffle and fletcher32 alone; as many bytes as its shape
/// promises.
class Hdf5Array {
 public:
  enum class Place { dataset, attribute };

  /// Opens `name` in, or at, `parent` and compares it with what is expected. Throws `Hdf5Mismatch`
  /// where kind or shape are others, `Hdf5Failure` where it cannot be read.
  Hdf5Array(Place place, const Hdf5Handle& parent, const std::string& name,
            const Hdf5Expected& expected);

  /// The open dataset or attribute, which this closes.
  const Hdf5Handle& handle() const { return handle_; }
  /// Extents as the file has them; none of a single value.
  const std::vector<std::int64_t>& shape() const { return shape_; }
  /// Product of the extents; 1 of a single value.
  std::int64_t num_elements() const { return num_elements_; }

  /// All values, converted to a type of the kind that was expected. Throws `Hdf5Failure`.
  template <class T>
  std::vector<T> values() const {
    std::vector<T> values(static_cast<std::size_t>(num_elements_));
    read(native_type<T>(), {}, values.data());
    return values;
  }
  /// The rows of a dataset; `out` has room for them.
  template <class T>
  void rows(Interval rows, T* out) const {
    read(native_type<T>(), rows, out);
  }
  /// A single text, without the zeros behind it.
  std::string text() const;

 private:
  template <class T>
  static hid_t native_type() {
    if constexpr (std::is_same_v<T, float>) return H5T_NATIVE_FLOAT;
    if constexpr (std::is_same_v<T, double>) return H5T_NATIVE_DOUBLE;
    if constexpr (std::is_same_v<T, std::int64_t>) return H5T_NATIVE_INT64;
    if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_NATIVE_UINT64;
  }
  void open(const Hdf5Handle& parent);
  void check_type(const Hdf5Expected& expected);
  void check_shape(const Hdf5Expected& expected);
  void check_storage() const;
  std::vector<std::int64_t> chunk_extents(const Hdf5Handle& properties) const;
  void check_unpacked(std::int64_t chunk_bytes) const;
  /// The one place where values are read; without rows all of them.
  void read(hid_t memory_type, Interval rows, void* out) const;
  [[noreturn]] void refuse(const std::string& reason) const;

  Place place_;
  std::string name_;
  Hdf5Handle handle_;
  Hdf5Handle type_;
  std::vector<std::int64_t> shape_;
  std::int64_t num_elements_ = 1;
  std::int64_t element_bytes_ = 0;  ///< in the file
};

/// What a plan, a configuration or another text of a file may take in memory.
inline constexpr std::int64_t most_text_bytes = std::int64_t{1} << 30;

/// A single text at or in `parent`, of at most so many bytes. Throws `Hdf5Failure`.
std::string read_text(Hdf5Array::Place place, const Hdf5Handle& parent, const std::string& name,
                      std::int64_t most_bytes);

/// Whether there is a link of this name; what it leads to is not looked at.
bool has_link(const Hdf5Handle& parent, const std::string& name);

}  // namespace pptrain
