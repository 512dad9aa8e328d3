#include "io/hdf5/hdf5.hpp"

#include <algorithm>

#include "base/names.hpp"

namespace pptrain {
namespace {

/// `file write failed: time = ..., error message = 'File too large', buf = ...` in fewer words.
std::string shorten(const std::string& reason) {
  static const std::string label = "error message = '";
  const std::size_t colon = reason.find(':');
  const std::size_t begin = reason.find(label);
  if (colon == std::string::npos || begin == std::string::npos) return reason;
  const std::size_t text = begin + label.size();
  return reason.substr(0, colon) + ": " + reason.substr(text, reason.find('\'', text) - text);
}

/// Notes the first description, which is the innermost one, and stops.
herr_t note_innermost(unsigned, const H5E_error2_t* error, void* reason) {
  *static_cast<std::string*>(reason) = error->desc != nullptr ? error->desc : "";
  return 1;
}

herr_t note_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

/// UTF-8 of fixed length: what varies in length cannot be kept in a SWMR file.
Hdf5Handle string_type(const std::string& value) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "copying a type");
  check_hdf5(H5Tset_size(type.get(), std::max<std::size_t>(value.size(), 1)),
             "setting a string's length");
  check_hdf5(H5Tset_cset(type.get(), H5T_CSET_UTF8), "setting a string's character set");
  return type;
}

}  // namespace

void silence_hdf5() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

void detail::throw_hdf5_failure(const std::string& action) {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note_innermost, &reason);
  H5Eclear2(H5E_DEFAULT);
  throw Hdf5Failure(action, reason.empty() ? "HDF5 gives no reason" : shorten(reason));
}

bool Hdf5Handle::close() noexcept {
  const bool closed = id_ < 0 || closer_(id_) >= 0;
  id_ = H5I_INVALID_HID;
  return closed;
}

void write_attribute(hid_t object, const std::string& name, const std::string& value) {
  const Hdf5Handle type = string_type(value);
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose, "making a data space");
  const Hdf5Handle attribute(
      H5Acreate2(object, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
      "creating attribute " + name);
  check_hdf5(H5Awrite(attribute.get(), type.get(), value.c_str()), "writing attribute " + name);
}

void write_string(hid_t parent, const std::string& name, const std::string& value) {
  const Hdf5Handle type = string_type(value);
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose, "making a data space");
  const Hdf5Handle dataset(H5Dcreate2(parent, name.c_str(), type.get(), space.get(), H5P_DEFAULT,
                                      H5P_DEFAULT, H5P_DEFAULT),
                           H5Dclose, "creating " + name);
  check_hdf5(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.c_str()),
             "writing " + name);
}

std::vector<std::string> names_in(const Hdf5Handle& group, const std::string& what) {
  std::vector<std::string> names;
  // In HDF5's own order: for another it makes a table, which 1.10 frees although it was never
  // filled where the file is damaged.
  check_hdf5(H5Literate(group.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, note_name, &names),
             "listing " + what);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::int64_t> shape_of(const Hdf5Handle& space) {
  const int rank = check_hdf5(H5Sget_simple_extent_ndims(space.get()), "reading a shape");
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  check_hdf5(H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr), "reading a shape");
  return {extents.begin(), extents.end()};
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> extents;
  for (const std::int64_t extent : shape) extents.push_back(std::to_string(extent));
  return "(" + join(extents) + ")";
}

}  // namespace pptrain
