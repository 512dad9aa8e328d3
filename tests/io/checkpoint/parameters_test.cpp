#include "io/checkpoint/parameters.hpp"

#include <cmath>
#include <limits>

#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

const std::string reference = test_data("gpt2-reference/tied/initial.h5");

std::string refused(const std::string& path, const std::string& name,
                    const std::vector<std::int64_t>& shape) {
  return complaint_of([&] { ParameterFile(path).read(name, shape); });
}

/// A parameter file with one dataset of shape (values.size()).
void write_parameter(const std::string& path, hid_t type, const std::vector<double>& values) {
  const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose,
                        "file");
  const Hdf5Handle group(
      H5Gcreate2(file.get(), "parameters", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
      "group");
  const hsize_t size = values.size();
  const Hdf5Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose, "space");
  const Hdf5Handle dataset(
      H5Dcreate2(group.get(), "p", type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      H5Dclose, "dataset");
  check_hdf5(
      H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
      "write");
}

TEST_CASE("parameters of the reference runs are read whole", "[parameters]") {
  const ParameterFile file(reference);
  CHECK(file.names().size() == 4 * 12 + 4);
  const std::vector<float> embedding = file.read("wte.weight", {257, 64});
  REQUIRE(embedding.size() == 257 * 64);
  double square = 0.0;
  for (const float value : embedding) square += static_cast<double>(value) * value;
  CHECK(std::sqrt(square / static_cast<double>(embedding.size())) == Approx(0.02).epsilon(0.05));
  CHECK(file.read("h.0.ln_1.weight", {64}).size() == 64);
}

TEST_CASE("values are exact and double precision is accepted", "[parameters]") {
  const TestFolder folder("parameters_exact");
  write_parameter(folder.path("p.h5"), H5T_IEEE_F64LE, {1.5, -0.25, 3.0});
  CHECK(ParameterFile(folder.path("p.h5")).read("p", {3}) ==
        std::vector<float>{1.5F, -0.25F, 3.0F});
}

TEST_CASE("parameter files that do not fit are refused", "[parameters]") {
  const TestFolder folder("parameters_bad");
  CHECK(refused(folder.path("none.h5"), "p", {1}).find("does not exist") != std::string::npos);
  CHECK(refused(folder.write("text.h5", "no hdf5"), "p", {1}).find("no HDF5 file") !=
        std::string::npos);
  CHECK(
      refused(reference, "h.7.ln_1.weight", {64}).find("/parameters/h.7.ln_1.weight is missing") !=
      std::string::npos);
  CHECK(refused(reference, "wte.weight", {256, 64})
            .find("is not what the model wants (its shape is (257, 64) and not (256, 64))") !=
        std::string::npos);
  CHECK(
      refused(reference, "wte.weight", {257 * 64}).find("its shape is (257, 64) and not (16448)") !=
      std::string::npos);
  write_parameter(folder.path("int.h5"), H5T_STD_I32LE, {1, 2});
  CHECK(
      refused(folder.path("int.h5"), "p", {2}).find("its values are not floating-point numbers") !=
      std::string::npos);
  write_parameter(folder.path("nan.h5"), H5T_IEEE_F32LE,
                  {1, std::numeric_limits<double>::quiet_NaN()});
  CHECK(refused(folder.path("nan.h5"), "p", {2}).find("NaN") != std::string::npos);
  {
    const Hdf5Handle empty(
        H5Fcreate(folder.path("empty.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
        H5Fclose, "file");
  }
  CHECK(refused(folder.path("empty.h5"), "p", {2}).find("no group /parameters") !=
        std::string::npos);
}

TEST_CASE("a torn parameter file is refused", "[parameters]") {
  const TestFolder folder("parameters_torn");
  std::filesystem::copy_file(reference, folder.path("torn.h5"));
  std::filesystem::permissions(folder.path("torn.h5"), std::filesystem::perms::owner_all);
  std::filesystem::resize_file(folder.path("torn.h5"), std::filesystem::file_size(reference) / 2);
  CHECK(refused(folder.path("torn.h5"), "wte.weight", {257, 64}).find("torn.h5: ") !=
        std::string::npos);
}

}  // namespace
}  // namespace pptrain
