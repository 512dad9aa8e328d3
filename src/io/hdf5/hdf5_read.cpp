#include "io/hdf5/hdf5_read.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/error.hpp"
#include "base/names.hpp"
#include "io/hdf5/filtered_chunks.hpp"
#include "io/hdf5/hdf5_input.hpp"
#include "io/hdf5/superblock.hpp"

namespace pptrain {
namespace {

/// HDF5 waits 1, 2, 4, ... ns between attempts at metadata that a writer may be writing: 4 ms in
/// all.
constexpr unsigned most_attempts = 22;
constexpr std::int64_t most_chunk_bytes = std::int64_t{1} << 28;
/// The limit of a compressed chunk, unpacked, is HDF5's default for its cache of chunks, and what
/// h5py makes at most. Whoever reads one row unpacks a chunk, and a thousandth of it in a file may
/// be all that there is.
constexpr std::int64_t most_unpacked_bytes = std::int64_t{1} << 20;
constexpr std::int64_t most_unpacked_rows = 16;

herr_t refuse_link(const char*, const char*, const char*, const char*, unsigned*, hid_t,
                   void* refused) {
  *static_cast<bool*>(refused) = true;
  return -1;
}

/// Opens an object; `type` is what it has to be.
Hdf5Handle open_object(const Hdf5Handle& parent, const std::string& name, H5I_type_t type) {
  bool refused = false;
  const Hdf5Handle access(H5Pcreate(H5P_LINK_ACCESS), H5Pclose, "making access properties");
  check_hdf5(H5Pset_elink_cb(access.get(), refuse_link, &refused), "refusing links to other files");
  const hid_t id = H5Oopen(parent.get(), name.c_str(), access.get());
  if (refused) throw Hdf5Failure("opening " + name, "it is a link to another file");
  Hdf5Handle object(id, H5Oclose, "opening " + name);
  if (H5Iget_type(id) == type) return object;
  throw Hdf5Failure("opening " + name, type == H5I_GROUP ? "it is no group" : "it is no dataset");
}

bool is_plain(hid_t type) {
  const std::size_t size = H5Tget_size(type);
  const H5T_order_t order = H5Tget_order(type);
  return H5Tcommitted(type) == 0 && H5Tget_precision(type) == 8 * size &&
         H5Tget_offset(type) == 0 && (order == H5T_ORDER_LE || order == H5T_ORDER_BE || size == 1);
}

bool is_integer(hid_t type) {
  const std::size_t size = H5Tget_size(type);
  return H5Tget_class(type) == H5T_INTEGER && is_plain(type) &&
         (size == 1 || size == 2 || size == 4 || size == 8);
}

/// IEEE 754 of 16, 32 or 64 bits.
bool is_real(hid_t type) {
  if (H5Tget_class(type) != H5T_FLOAT || !is_plain(type)) return false;
  const std::size_t bits = 8 * H5Tget_size(type);
  const std::size_t exponent = bits == 16 ? 5 : bits == 32 ? 8 : 11;
  const std::size_t mantissa = bits - 1 - exponent;
  std::size_t sign = 0, exponent_at = 0, exponent_size = 0, mantissa_at = 0, mantissa_size = 0;
  if (H5Tget_fields(type, &sign, &exponent_at, &exponent_size, &mantissa_at, &mantissa_size) < 0)
    return false;
  return (bits == 16 || bits == 32 || bits == 64) && sign == bits - 1 && exponent_at == mantissa &&
         exponent_size == exponent && mantissa_at == 0 && mantissa_size == mantissa &&
         H5Tget_norm(type) == H5T_NORM_IMPLIED &&
         H5Tget_ebias(type) == (std::size_t{1} << (exponent - 1)) - 1;
}

bool is_text(hid_t type) {
  return H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
         H5Tcommitted(type) == 0;
}

bool is_of(Hdf5Expected::Kind kind, hid_t type) {
  switch (kind) {
    case Hdf5Expected::Kind::integer: return is_integer(type);
    case Hdf5Expected::Kind::real: return is_real(type);
    case Hdf5Expected::Kind::fp32: return is_real(type) && H5Tequal(type, H5T_IEEE_F32LE) > 0;
    case Hdf5Expected::Kind::text: return is_text(type);
  }
  return false;
}

const char* kind_text(Hdf5Expected::Kind kind) {
  switch (kind) {
    case Hdf5Expected::Kind::integer: return "its values are not integers";
    case Hdf5Expected::Kind::real: return "its values are not floating-point numbers";
    case Hdf5Expected::Kind::fp32: return "its values are not fp32";
    case Hdf5Expected::Kind::text: return "it is no text of fixed length";
  }
  return "";
}

/// Product of factors that are not negative, or the most there is where that is more.
std::int64_t product(const std::vector<std::int64_t>& factors) {
  std::int64_t result = 1;
  for (const std::int64_t factor : factors) {
    if (factor < 0 || __builtin_mul_overflow(result, factor, &result)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return result;
}

/// The size of the file that holds an object, as the system tells it.
std::int64_t file_bytes(const Hdf5Handle& object) {
  const Hdf5Handle file(H5Iget_file_id(object.get()), H5Fclose, "finding the file");
  void* descriptor = nullptr;
  check_hdf5(H5Fget_vfd_handle(file.get(), H5P_DEFAULT, &descriptor), "finding the file");
  struct stat status = {};
  if (::fstat(*static_cast<const int*>(descriptor), &status) != 0)
    throw Hdf5Failure("finding the file", "it is gone");
  return status.st_size;
}

std::string expected_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> extents;
  for (const std::int64_t extent : shape)
    extents.push_back(extent == Hdf5Expected::any ? "n" : std::to_string(extent));
  return "(" + join(extents) + ")";
}

}  // namespace

Hdf5Source open_to_read(const std::string& path) {
  silence_hdf5();
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw Hdf5Failure("opening the file", "it is no regular file");
  }
  const std::optional<Superblock> superblock = read_superblock(path);
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "making access properties");
  check_hdf5(H5Pset_metadata_read_attempts(access.get(), most_attempts),
             "setting the number of attempts");
  Hdf5Source source;
  source.left_open = superblock && superblock->open_for_swmr;
  const unsigned mode = H5F_ACC_RDONLY | (source.left_open ? H5F_ACC_SWMR_READ : 0U);
  source.file = open_input(path, mode, access);
  return source;
}

Hdf5Handle open_group(const Hdf5Handle& parent, const std::string& name) {
  return open_object(parent, name, H5I_GROUP);
}

bool has_link(const Hdf5Handle& parent, const std::string& name) {
  return H5Lexists(parent.get(), name.c_str(), H5P_DEFAULT) > 0;
}

Hdf5Array::Hdf5Array(Place place, const Hdf5Handle& parent, const std::string& name,
                     const Hdf5Expected& expected)
    : place_(place), name_(name) {
  open(parent);
  if (place_ == Place::dataset) {
    // Before anything is asked of the dataset: that of a virtual one may open others.
    const Hdf5Handle properties(H5Dget_create_plist(handle_.get()), H5Pclose,
                                "reading the layout of " + name_);
    if (H5Pget_layout(properties.get()) == H5D_VIRTUAL)
      refuse("it is a virtual dataset without a mapping");
    if (H5Pget_external_count(properties.get()) != 0) refuse("its values are in other files");
  }
  check_type(expected);
  check_shape(expected);
  check_storage();
}

void Hdf5Array::refuse(const std::string& reason) const {
  throw Hdf5Failure("reading " + name_, reason);
}

void Hdf5Array::open(const Hdf5Handle& parent) {
  if (place_ == Place::dataset) {
    handle_ = open_object(parent, name_, H5I_DATASET);
    type_ = Hdf5Handle(H5Dget_type(handle_.get()), H5Tclose, "reading the type of " + name_);
  } else {
    handle_ = Hdf5Handle(H5Aopen(parent.get(), name_.c_str(), H5P_DEFAULT), H5Aclose,
                         "opening attribute " + name_);
    type_ = Hdf5Handle(H5Aget_type(handle_.get()), H5Tclose, "reading the type of " + name_);
  }
}

void Hdf5Array::check_type(const Hdf5Expected& expected) {
  if (!is_of(expected.kind, type_.get())) throw Hdf5Mismatch(name_, kind_text(expected.kind));
  element_bytes_ = static_cast<std::int64_t>(H5Tget_size(type_.get()));
}

void Hdf5Array::check_shape(const Hdf5Expected& expected) {
  const Hdf5Handle space(
      place_ == Place::dataset ? H5Dget_space(handle_.get()) : H5Aget_space(handle_.get()),
      H5Sclose, "reading the shape of " + name_);
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) refuse("it has no values");
  shape_ = shape_of(space);
  const auto fits = [](std::int64_t found, std::int64_t wanted) {
    return found == wanted || (wanted == Hdf5Expected::any && found >= 0);
  };
  if (!expected.any_shape && !std::equal(shape_.begin(), shape_.end(), expected.shape.begin(),
                                         expected.shape.end(), fits)) {
    throw Hdf5Mismatch(name_, fmt::format("its shape is {} and not {}", shape_text(shape_),
                                          expected_text(expected.shape)));
  }
  num_elements_ = product(shape_);
  const std::int64_t bytes =
      product({num_elements_, std::max<std::int64_t>(element_bytes_, sizeof(double))});
  if (bytes > expected.most_bytes) refuse(fmt::format("{} bytes are too many", bytes));
}

void Hdf5Array::check_storage() const {
  const std::int64_t wanted = num_elements_ * element_bytes_;
  if (place_ == Place::attribute) {
    if (H5Aget_storage_size(handle_.get()) != static_cast<hsize_t>(wanted))
      refuse("its values are not all there");
    return;
  }
  const Hdf5Handle properties(H5Dget_create_plist(handle_.get()), H5Pclose,
                              "reading the layout of " + name_);
  const std::vector<std::int64_t> chunk = chunk_extents(properties);
  const std::int64_t length = file_bytes(handle_);
  const hsize_t stored = H5Dget_storage_size(handle_.get());
  if (stored > static_cast<hsize_t>(length)) refuse("the file ends before it");
  if (check_hdf5(H5Pget_nfilters(properties.get()), "reading the filters of " + name_) > 0) {
    if (H5Pget_filter_by_id2(properties.get(), H5Z_FILTER_DEFLATE, nullptr, nullptr, nullptr, 0,
                             nullptr, nullptr) >= 0) {
      check_unpacked(product(chunk) * element_bytes_);
    }
    check_filtered_chunks(handle_, name_, chunk, element_bytes_, length);
    return;
  }
  // A writer that was killed may have made room for a row without having written it.
  const std::int64_t missing = chunk.empty() ? 0 : product(chunk) * element_bytes_;
  if (wanted > static_cast<std::int64_t>(stored) + missing) refuse("its values are not all there");
}

/// `chunk_bytes`: of a compressed chunk, when it is unpacked.
void Hdf5Array::check_unpacked(std::int64_t chunk_bytes) const {
  const std::int64_t rows = shape_.empty() ? 1 : std::max<std::int64_t>(1, shape_[0]);
  const std::int64_t most =
      std::max(most_unpacked_bytes, most_unpacked_rows * (num_elements_ / rows) * element_bytes_);
  if (chunk_bytes <= most) return;
  refuse(fmt::format(
      "its compressed chunks have {} bytes unpacked, more than {}, for every row that is read "
      "(h5repack -l {}:CHUNK=... makes smaller ones)",
      chunk_bytes, most, name_));
}

/// Extents of the chunks of the array; none where it has no chunks.
std::vector<std::int64_t> Hdf5Array::chunk_extents(const Hdf5Handle& properties) const {
  if (H5Pget_layout(properties.get()) != H5D_CHUNKED) return {};
  std::vector<hsize_t> extents(shape_.size());
  const int rank = H5Pget_chunk(properties.get(), static_cast<int>(extents.size()), extents.data());
  if (rank < 1 || rank != static_cast<int>(extents.size()))
    refuse("its chunks have another number of dimensions");
  std::vector<std::int64_t> chunk(extents.begin(), extents.end());
  const std::int64_t bytes = product({product(chunk), element_bytes_});
  if (bytes < element_bytes_ || bytes > most_chunk_bytes)
    refuse(fmt::format("its chunks have {} bytes", bytes));
  return chunk;
}

void Hdf5Array::read(hid_t memory_type, Interval rows, void* out) const {
  const std::string action = "reading " + name_;
  if (place_ == Place::attribute) {
    check_hdf5(H5Aread(handle_.get(), memory_type, out), action);
    return;
  }
  if (rows.empty()) {
    check_hdf5(H5Dread(handle_.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out), action);
    return;
  }
  PPTRAIN_ASSERT(!shape_.empty() && rows.begin >= 0 && rows.end <= shape_[0], "rows {} to {}",
                 rows.begin, rows.end);
  std::vector<hsize_t> start(shape_.size(), 0);
  std::vector<hsize_t> count(shape_.begin(), shape_.end());
  start[0] = static_cast<hsize_t>(rows.begin);
  count[0] = static_cast<hsize_t>(rows.size());
  const Hdf5Handle there(H5Dget_space(handle_.get()), H5Sclose, action);
  check_hdf5(H5Sselect_hyperslab(there.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                                 nullptr),
             action);
  const Hdf5Handle here(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                        H5Sclose, action);
  check_hdf5(H5Dread(handle_.get(), memory_type, here.get(), there.get(), H5P_DEFAULT, out),
             action);
}

std::string Hdf5Array::text() const {
  PPTRAIN_ASSERT(shape_.empty(), "a text of shape {}", shape_text(shape_));
  std::string text(static_cast<std::size_t>(element_bytes_), '\0');
  read(type_.get(), {}, text.data());
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

std::string read_text(Hdf5Array::Place place, const Hdf5Handle& parent, const std::string& name,
                      std::int64_t most_bytes) {
  return Hdf5Array(place, parent, name, {Hdf5Expected::Kind::text, {}, most_bytes}).text();
}

}  // namespace pptrain
