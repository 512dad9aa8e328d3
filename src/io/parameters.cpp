#include "io/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>

#include "base/error.hpp"
#include "io/checkpoint_file.hpp"

namespace pptrain {

ParameterFile::ParameterFile(const std::string& path) : path_(path) {
  silence_hdf5();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw_bad_input({path, "the file does not exist", "[model] initial_parameters names it", "check the path"});
  }
  try {
    file_ = Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "opening the file");
  } catch (const Hdf5Failure& failure) {
    throw_bad_input({path, "this is no HDF5 file that can be read", failure.reason(), "name a checkpoint"});
  }
  try {
    group_ = Hdf5Handle(H5Gopen2(file_.get(), "parameters", H5P_DEFAULT), H5Gclose, "opening /parameters");
  } catch (const Hdf5Failure&) {
    throw_bad_input({path, "the file has no group /parameters", "", "name a checkpoint"});
  }
}

std::vector<std::string> ParameterFile::names() const {
  try {
    return names_in(group_, "parameters");
  } catch (const Hdf5Failure& failure) {
    throw_bad_input({path_, "the parameters cannot be listed", failure.reason(), "is the file torn?"});
  }
}

std::vector<float> ParameterFile::read(const std::string& name, const std::vector<std::int64_t>& shape) const {
  const std::vector<std::string> there = names();
  if (!std::binary_search(there.begin(), there.end(), name)) {
    throw_bad_input({path_, fmt::format("/parameters/{} is missing", name),
                     fmt::format("the file has {} parameters and the model asks for this one", there.size()),
                     "compare [model] layers and tied with the file"});
  }
  try {
    const Hdf5Handle dataset(H5Dopen2(group_.get(), name.c_str(), H5P_DEFAULT), H5Dclose, "opening " + name);
    const std::vector<std::int64_t> found = shape_of(dataset);
    if (found != shape) {
      throw_bad_input({path_, fmt::format("/parameters/{} has shape {}", name, shape_text(found)),
                       "the model wants " + shape_text(shape), "compare [model] and sequence_length with the file"});
    }
    if (class_of(dataset) != H5T_FLOAT) {
      throw_bad_input({path_, name + " is not floating-point", "", "name a checkpoint"});
    }
    const auto size = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    std::vector<float> values(static_cast<std::size_t>(size));
    check_hdf5(H5Dread(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
               "reading " + name);
    check_values(path_, dataset.get(), "/parameters/" + name, values);
    if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
      throw_bad_input(
          {path_, fmt::format("/parameters/{} holds NaN or infinity", name), "", "name another checkpoint"});
    }
    return values;
  } catch (const Hdf5Failure& failure) {
    throw_bad_input({path_, fmt::format("/parameters/{} cannot be read", name), failure.reason(), "is the file torn?"});
  }
}

}  // namespace pptrain
