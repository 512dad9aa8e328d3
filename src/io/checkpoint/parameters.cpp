#include "io/checkpoint/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>

#include "base/error.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/hdf5/hdf5_read.hpp"

namespace pptrain {

ParameterFile::ParameterFile(const std::string& path) : path_(path) {
  silence_hdf5();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw_bad_input(
        {path, "the file does not exist", "[model] initial_parameters names it", "check the path"});
  }
  try {
    file_ = open_to_read(path).file;
  } catch (const Hdf5Failure& failure) {
    throw_bad_input(
        {path, "this is no HDF5 file that can be read", failure.reason(), "name a checkpoint"});
  }
  try {
    group_ = open_group(file_, "parameters");
  } catch (const Hdf5Failure& failure) {
    throw_bad_input(
        {path, "the file has no group /parameters", failure.reason(), "name a checkpoint"});
  }
}

std::vector<std::string> ParameterFile::names() const {
  try {
    return names_in(group_, "parameters");
  } catch (const Hdf5Failure& failure) {
    throw_bad_input(
        {path_, "the parameters cannot be listed", failure.reason(), "is the file torn?"});
  }
}

std::vector<float> ParameterFile::read(const std::string& name,
                                       const std::vector<std::int64_t>& shape) const {
  const std::vector<std::string> there = names();
  if (!std::binary_search(there.begin(), there.end(), name)) {
    throw_bad_input(
        {path_, fmt::format("/parameters/{} is missing", name),
         fmt::format("the file has {} parameters and the model asks for this one", there.size()),
         "compare [model] layers and tied with the file"});
  }
  try {
    const auto size =
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    const Hdf5Array array(
        Hdf5Array::Place::dataset, group_, name,
        {Hdf5Expected::Kind::real, shape, size * static_cast<std::int64_t>(sizeof(double))});
    std::vector<float> values = array.values<float>();
    check_values(path_, array.handle(), "/parameters/" + name, values);
    if (!all_finite(values.data(), values.size())) {
      throw_bad_input({path_, fmt::format("/parameters/{} holds NaN or infinity", name), "",
                       "name another checkpoint"});
    }
    return values;
  } catch (const Hdf5Mismatch& mismatch) {
    throw_bad_input({path_, fmt::format("/parameters/{} is not what the model wants", name),
                     mismatch.reason(), "compare [model] and sequence_length with the file"});
  } catch (const Hdf5Failure& failure) {
    throw_bad_input({path_, fmt::format("/parameters/{} cannot be read", name), failure.reason(),
                     "is the file torn?"});
  }
}

}  // namespace pptrain
