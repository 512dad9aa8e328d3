#include "io/samples/feature_file.hpp"

#include <limits>

#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

void write_dataset(const Hdf5Handle& file, const std::string& name, hid_t type,
                   const std::vector<hsize_t>& shape, const std::vector<double>& values) {
  const Hdf5Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
                         H5Sclose, "space");
  const Hdf5Handle dataset(H5Dcreate2(file.get(), name.c_str(), type, space.get(), H5P_DEFAULT,
                                      H5P_DEFAULT, H5P_DEFAULT),
                           H5Dclose, name);
  check_hdf5(
      H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
      "write");
}

struct Content {
  std::vector<hsize_t> shape = {3, 2};
  std::vector<double> features = {1, 2, 3, 4, 5, 6};
  hid_t feature_type = H5T_IEEE_F32LE;
  std::vector<double> labels = {0, 4, 2};
  hid_t label_type = H5T_STD_I32LE;
};

std::string write(const TestFolder& folder, const std::string& name, const Content& content) {
  const std::string path = folder.path(name);
  const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose,
                        "file");
  write_dataset(file, "features", content.feature_type, content.shape, content.features);
  write_dataset(file, "labels", content.label_type, {content.labels.size()}, content.labels);
  return path;
}

FeatureFileOptions options() { return {2, 5, 3, "c.toml:4"}; }

std::string refused(const std::string& path, const FeatureFileOptions& o = options()) {
  return complaint_of([&] { FeatureFile(path, o); });
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("rows of a feature file are read as they were written", "[features]") {
  const TestFolder folder("features_exact");
  const FeatureFile file(write(folder, "f.h5", {}), options());
  REQUIRE(file.num_rows() == 3);
  std::vector<float> features(2);
  std::int32_t label = -1;
  file.row(1, {nullptr, &label, features.data()});
  CHECK(features == std::vector<float>{3, 4});
  CHECK(label == 4);
  file.row(2, {nullptr, nullptr, features.data()});
  CHECK(features == std::vector<float>{5, 6});
}

TEST_CASE("feature files that do not fit are refused with what is wrong", "[features]") {
  const TestFolder folder("features_bad");
  const std::string good = write(folder, "good.h5", {});
  CHECK(contains(refused(folder.path("none.h5")), "does not exist"));
  CHECK(contains(refused(folder.write("text.h5", "no hdf5")), "cannot be read as HDF5"));
  CHECK(contains(refused(good, {3, 5, 3, "c.toml:4"}),
                 "/features is not what the model takes (its shape is (3, 2) and not (n, 3))"));
  CHECK(contains(refused(good, {2, 4, 3, "c.toml:4"}),
                 "row 1 has label 4 (the model has classes 0 to 3)"));
  CHECK(contains(refused(good, {2, 5, 4, "c.toml:4"}), "3 rows are too few"));
  CHECK(contains(refused(good, {2, 5, 4, "c.toml:4"}), "c.toml:4: "));
  Content content;
  content.labels = {0, 1};
  CHECK(contains(refused(write(folder, "labels.h5", content)),
                 "/labels is not what the model takes (its shape is (2) and not (3))"));
  content = {};
  content.feature_type = H5T_STD_I32LE;
  CHECK(contains(refused(write(folder, "ints.h5", content)),
                 "its values are not floating-point numbers"));
  content = {};
  content.label_type = H5T_IEEE_F32LE;
  CHECK(contains(refused(write(folder, "reals.h5", content)), "its values are not integers"));
  content = {};
  content.features[3] = std::numeric_limits<double>::quiet_NaN();
  CHECK(contains(refused(write(folder, "nan.h5", content)), "row 1 of /features holds NaN"));
}

}  // namespace
}  // namespace pptrain
