#include <cstring>

#include "fuzz.hpp"
#include "io/checkpoint/parameters.hpp"
#include "io/samples/feature_file.hpp"
#include "strange_hdf5.hpp"

using namespace pptrain;

namespace {

constexpr std::int64_t num_inputs = 4;
constexpr std::int64_t num_classes = 5;
constexpr hsize_t num_rows = 6;

void put(hid_t file, const char* name, hid_t type, const std::vector<hsize_t>& extents,
         hid_t properties, const std::vector<double>& values) {
  const Hdf5Handle space(
      H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose,
      "space");
  const Hdf5Handle dataset(
      H5Dcreate2(file, name, type, space.get(), H5P_DEFAULT, properties, H5P_DEFAULT), H5Dclose,
      name);
  check_hdf5(
      H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
      name);
}

/// Files as programs write them by default, or in the newest format; in one piece, or in chunks,
/// deflated.
std::string sound_features(const std::string& path, bool latest, bool chunked) {
  {
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "access");
    if (latest) H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "properties");
    const hsize_t chunk[2] = {2, num_inputs};
    if (chunked) H5Pset_chunk(properties.get(), 2, chunk);
    if (chunked) H5Pset_shuffle(properties.get());
    if (chunked) H5Pset_deflate(properties.get(), 6);
    const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()),
                          H5Fclose, "file");
    put(file.get(), "features", H5T_IEEE_F32LE, {num_rows, num_inputs}, properties.get(),
        std::vector<double>(num_rows * num_inputs, 0.25));
    put(file.get(), "labels", H5T_STD_I32LE, {num_rows}, H5P_DEFAULT,
        std::vector<double>(num_rows, 3));
  }
  return bytes_of(path);
}

bool is_outside(float value) {
  const unsigned char outside[sizeof value] = {outside_byte, outside_byte, outside_byte,
                                               outside_byte};
  return std::memcmp(&value, outside, sizeof value) == 0;
}

void read(const std::string& path) {
  try {
    const FeatureFile file(path, {num_inputs, num_classes, 1, "fuzzed"});
    std::vector<float> features(num_inputs);
    std::int32_t label = -1;
    for (const std::int64_t row : {std::int64_t{0}, file.num_rows() - 1}) {
      file.row(row, {nullptr, &label, features.data()});
      PPTRAIN_ASSERT(0 <= label && label < num_classes, "label {}", label);
      for (const float value : features) PPTRAIN_ASSERT(!is_outside(value), "a value from outside");
    }
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FuzzFolder folder;
  static const std::string path = folder.path("features.h5");
  static const std::vector<std::string> sound = {
      sound_features(path, false, false), sound_features(path, true, false),
      sound_features(path, false, true), sound_features(path, true, true)};
  static const StrangeHdf5 strange(folder, {"/features", "/labels"}, {"a"});
  FuzzedDataProvider input(data, size);
  write_bytes(path, sound[input.ConsumeIntegralInRange<std::size_t>(0, sound.size() - 1)]);
  strange.change(path, input, input.ConsumeBool());
  read(path);
  return 0;
}
