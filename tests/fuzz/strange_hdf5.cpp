#include "strange_hdf5.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "io/hdf5/hdf5.hpp"

namespace pptrain {
namespace {

constexpr std::size_t most_values = 4096;     // that are written; larger datasets stay empty
constexpr double most_bytes = 1024.0 * 1024;  // that HDF5 is given to hold at once

/// What HDF5 makes, closed where it made something: what it refuses to make is no matter.
using Made = Hdf5Handle;
Made made(hid_t id, Hdf5Handle::Closer closer) {
  return id < 0 ? Made() : Made(id, closer, "making");
}

Made some_type(FuzzedDataProvider& input) {
  const hid_t plain[] = {H5T_STD_I64LE,   H5T_IEEE_F64LE, H5T_IEEE_F32LE,     H5T_STD_I8LE,
                         H5T_STD_U16BE,   H5T_STD_I32LE,  H5T_STD_U64LE,      H5T_STD_U64BE,
                         H5T_IEEE_F32BE,  H5T_IEEE_F64BE, H5T_NATIVE_LDOUBLE, H5T_STD_B32LE,
                         H5T_STD_REF_OBJ, H5T_UNIX_D32LE, H5T_C_S1,           H5T_VAX_F64,
                         H5T_NATIVE_HBOOL};
  Made type = made(H5Tcopy(input.PickValueInArray(plain)), H5Tclose);
  switch (input.ConsumeIntegralInRange(0, 11)) {
    case 0: H5Tset_size(type.get(), input.ConsumeIntegralInRange<std::size_t>(1, 64)); break;
    case 1: H5Tset_precision(type.get(), input.ConsumeIntegralInRange<std::size_t>(1, 64)); break;
    case 2: H5Tset_offset(type.get(), input.ConsumeIntegralInRange<std::size_t>(0, 32)); break;
    case 3:
      type = made(H5Tcopy(H5T_C_S1), H5Tclose);
      H5Tset_size(type.get(), input.ConsumeBool()
                                  ? H5T_VARIABLE
                                  : input.ConsumeIntegralInRange<std::size_t>(1, 2000));
      break;
    case 4: {
      const hsize_t extent = input.ConsumeIntegralInRange<hsize_t>(1, 300);
      return made(H5Tarray_create2(type.get(), 1, &extent), H5Tclose);
    }
    case 5: {
      Made compound = made(H5Tcreate(H5T_COMPOUND, 64), H5Tclose);
      H5Tinsert(compound.get(), "x", input.ConsumeIntegralInRange<std::size_t>(0, 60), type.get());
      return compound;
    }
    case 6: return made(H5Tenum_create(H5T_STD_I32LE), H5Tclose);
    case 7: return made(H5Tvlen_create(type.get()), H5Tclose);
    case 8:
      return made(H5Tcreate(H5T_OPAQUE, input.ConsumeIntegralInRange<std::size_t>(1, 600)),
                  H5Tclose);
    case 9:
      H5Tset_fields(type.get(), input.ConsumeIntegralInRange<std::size_t>(0, 63),
                    input.ConsumeIntegralInRange<std::size_t>(0, 63),
                    input.ConsumeIntegralInRange<std::size_t>(1, 63), 0,
                    input.ConsumeIntegralInRange<std::size_t>(1, 63));
      break;
    default: break;
  }
  return type;
}

std::vector<hsize_t> some_extents(FuzzedDataProvider& input, std::size_t rank) {
  const hsize_t extents[] = {0, 1,   2,    3,        4,          5,          6,
                             7, 100, 1000, 1U << 20, 1ULL << 31, 1ULL << 33, 1ULL << 62};
  std::vector<hsize_t> chosen;
  for (std::size_t i = 0; i < rank; ++i) chosen.push_back(input.PickValueInArray(extents));
  return chosen;
}

Made some_space(FuzzedDataProvider& input, std::vector<hsize_t>& extents) {
  const auto rank = input.ConsumeIntegralInRange<std::size_t>(0, 5);
  if (rank == 5) return made(H5Screate(H5S_NULL), H5Sclose);
  extents = some_extents(input, rank);
  std::vector<hsize_t> most = extents;
  if (rank > 0 && input.ConsumeBool()) most[0] = H5S_UNLIMITED;
  if (rank == 0) return made(H5Screate(H5S_SCALAR), H5Sclose);
  return made(H5Screate_simple(static_cast<int>(rank), extents.data(), most.data()), H5Sclose);
}

/// Bytes of so many elements, however many.
double num_bytes(const std::vector<hsize_t>& extents, const Made& type) {
  double bytes = static_cast<double>(H5Tget_size(type.get()));
  for (const hsize_t extent : extents) bytes *= static_cast<double>(extent);
  return bytes;
}

/// HDF5 itself fails where it writes strange types through the last two: then nothing is written.
bool set_filters(hid_t properties, FuzzedDataProvider& input) {
  bool writes = true;
  for (int i = input.ConsumeIntegralInRange(0, 2); i > 0; --i) {
    switch (input.ConsumeIntegralInRange(0, 4)) {
      case 0: H5Pset_deflate(properties, 1); break;
      case 1: H5Pset_shuffle(properties); break;
      case 2: H5Pset_fletcher32(properties); break;
      case 3:
        H5Pset_scaleoffset(properties, H5Z_SO_INT, 2);
        writes = false;
        break;
      default:
        H5Pset_nbit(properties);
        writes = false;
        break;
    }
  }
  return writes;
}

void change_bytes(const std::string& path, FuzzedDataProvider& input) {
  std::string bytes = bytes_of(path);
  for (int i = input.ConsumeIntegralInRange(0, 4); i > 0 && !bytes.empty(); --i) {
    // Metadata are at the beginning mostly.
    const std::size_t most =
        input.ConsumeBool() ? bytes.size() - 1 : std::min<std::size_t>(bytes.size() - 1, 4095);
    const auto at = input.ConsumeIntegralInRange<std::size_t>(0, most);
    bytes[at] = static_cast<char>(input.ConsumeIntegral<unsigned char>());
  }
  if (input.ConsumeIntegralInRange(0, 15) == 1)
    bytes.resize(input.ConsumeIntegralInRange<std::size_t>(0, bytes.size()));
  write_bytes(path, bytes);
}

}  // namespace

StrangeHdf5::StrangeHdf5(const FuzzFolder& folder, std::vector<std::string> objects,
                         std::vector<std::string> attributes)
    : objects_(std::move(objects)),
      attributes_(std::move(attributes)),
      other_file_(folder.path("outside.h5")),
      raw_file_(folder.path("outside.raw")) {
  silence_hdf5();
  const std::string outside(8 * most_values, static_cast<char>(outside_byte));
  write_bytes(raw_file_, outside);
  const Made file =
      made(H5Fcreate(other_file_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  const hsize_t extent = most_values;
  const Made space = made(H5Screate_simple(1, &extent, nullptr), H5Sclose);
  const Made dataset = made(H5Dcreate2(file.get(), "d", H5T_IEEE_F64LE, space.get(), H5P_DEFAULT,
                                       H5P_DEFAULT, H5P_DEFAULT),
                            H5Dclose);
  H5Dwrite(dataset.get(), H5T_IEEE_F64LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, outside.data());
}

void StrangeHdf5::change(const std::string& path, FuzzedDataProvider& input, bool latest) const {
  const int changes = input.ConsumeIntegralInRange(0, 3);
  if (changes > 0) {
    const Made access = made(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    if (latest) H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    const Made file = made(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), H5Fclose);
    for (int i = 0; i < changes; ++i) change_object(file.get(), input);
  }
  if (input.ConsumeBool()) change_bytes(path, input);
  H5Eclear2(H5E_DEFAULT);
}

void StrangeHdf5::change_object(hid_t file, FuzzedDataProvider& input) const {
  const std::string& name =
      objects_[input.ConsumeIntegralInRange<std::size_t>(0, objects_.size() - 1)];
  const int kind = input.ConsumeIntegralInRange(0, 7);
  if (kind <= 1) return put_attribute(file, name, input);
  H5Ldelete(file, name.c_str(), H5P_DEFAULT);
  if (kind == 2) return;
  if (kind == 3) return put_link(file, name, input);
  if (kind == 4) {
    const Made group =
        made(H5Gcreate2(file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    return;
  }
  put_dataset(file, name, input);
}

void StrangeHdf5::put_link(hid_t file, const std::string& name, FuzzedDataProvider& input) const {
  const std::string& other =
      objects_[input.ConsumeIntegralInRange<std::size_t>(0, objects_.size() - 1)];
  switch (input.ConsumeIntegralInRange(0, 3)) {
    case 0: H5Lcreate_soft(other.c_str(), file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT); break;
    case 1:
      H5Lcreate_external(other_file_.c_str(), input.ConsumeBool() ? "/d" : "/", file, name.c_str(),
                         H5P_DEFAULT, H5P_DEFAULT);
      break;
    case 2:
      H5Lcreate_hard(file, other.c_str(), file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
      break;
    default: H5Lcreate_hard(file, "/", file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT); break;
  }
}

/// Chooses where values lie: in one piece, in the header, in chunks, in another file, in another
/// dataset. Returns whether they can be written.
bool StrangeHdf5::set_place(hid_t properties, hid_t space, FuzzedDataProvider& input) const {
  const int rank = H5Sget_simple_extent_ndims(space);
  switch (input.ConsumeIntegralInRange(0, 5)) {
    case 0: H5Pset_layout(properties, H5D_COMPACT); break;
    case 1: H5Pset_external(properties, raw_file_.c_str(), 0, H5F_UNLIMITED); return false;
    case 2: H5Pset_virtual(properties, space, other_file_.c_str(), "/d", space); return false;
    case 3:
    case 4: {
      if (rank <= 0) break;
      const std::vector<hsize_t> chunk = some_extents(input, static_cast<std::size_t>(rank));
      H5Pset_chunk(properties, rank, chunk.data());
      return set_filters(properties, input);
    }
    default: break;
  }
  return true;
}

void StrangeHdf5::put_dataset(hid_t file, const std::string& name,
                              FuzzedDataProvider& input) const {
  const Made type = some_type(input);
  std::vector<hsize_t> extents;
  const Made space = some_space(input, extents);
  const Made properties = made(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const bool writes = set_place(properties.get(), space.get(), input);
  if (input.ConsumeIntegralInRange(0, 7) == 1) {
    H5Tcommit2(file, "/committed", type.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  }
  const Made dataset = made(H5Dcreate2(file, name.c_str(), type.get(), space.get(), H5P_DEFAULT,
                                       properties.get(), H5P_DEFAULT),
                            H5Dclose);
  const hssize_t elements = H5Sget_simple_extent_npoints(space.get());
  std::vector<hsize_t> chunk(H5Pget_layout(properties.get()) == H5D_CHUNKED ? extents.size() : 0);
  if (!chunk.empty()) H5Pget_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data());
  if (num_bytes(chunk, type) > most_bytes) return;
  const H5T_class_t kind = H5Tget_class(type.get());
  const bool has_bytes = kind == H5T_INTEGER || kind == H5T_FLOAT ||
                         (kind == H5T_STRING && H5Tis_variable_str(type.get()) == 0);
  if (!dataset || !writes || !has_bytes || elements < 0 ||
      elements > static_cast<hssize_t>(most_values))
    return;
  const std::string values(static_cast<std::size_t>(elements) * H5Tget_size(type.get()) + 1,
                           static_cast<char>(input.ConsumeIntegralInRange(0, 64)));
  H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

void StrangeHdf5::put_attribute(hid_t file, const std::string& name,
                                FuzzedDataProvider& input) const {
  const Made object = made(H5Oopen(file, name.c_str(), H5P_DEFAULT), H5Oclose);
  if (!object) return;
  const std::string& attribute =
      attributes_[input.ConsumeIntegralInRange<std::size_t>(0, attributes_.size() - 1)];
  H5Adelete(object.get(), attribute.c_str());
  const Made type = some_type(input);
  std::vector<hsize_t> extents;
  const Made space = some_space(input, extents);
  if (num_bytes(extents, type) > most_bytes) return;
  made(H5Acreate2(object.get(), attribute.c_str(), type.get(), space.get(), H5P_DEFAULT,
                  H5P_DEFAULT),
       H5Aclose);
}

}  // namespace pptrain
