#pragma once

#include <string>
#include <vector>

#include "io/hdf5/hdf5.hpp"

namespace pptrain {

/// Writes a dataset of numbers, converted to a type of the file.
inline void write_sample_array(const Hdf5Handle& file, const std::string& name, hid_t type,
                               const std::vector<hsize_t>& shape,
                               const std::vector<double>& values) {
  const Hdf5Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
                         H5Sclose, "space");
  const Hdf5Handle dataset(H5Dcreate2(file.get(), name.c_str(), type, space.get(), H5P_DEFAULT,
                                      H5P_DEFAULT, H5P_DEFAULT),
                           H5Dclose, name);
  check_hdf5(
      H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
      "write");
}

}  // namespace pptrain
