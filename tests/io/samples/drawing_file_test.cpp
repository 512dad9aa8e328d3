#include "io/samples/drawing_file.hpp"

#include <limits>
#include <numeric>

#include "data/files.hpp"
#include "io/hdf5_samples.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

/// Two images of three channels, one row and two columns, each drawn from four numbers.
struct DrawingContent {
  std::vector<hsize_t> shape = {2, 3, 1, 2};
  std::vector<double> pixels = std::vector<double>(12);
  std::vector<hsize_t> latent_shape = {2, 4};
  std::vector<double> latents = std::vector<double>(8);

  DrawingContent() {
    std::iota(pixels.begin(), pixels.end(), 0.0);
    std::iota(latents.begin(), latents.end(), 100.0);
  }
};

std::string write(const TestFolder& folder, const std::string& name,
                  const DrawingContent& content) {
  const std::string path = folder.path(name);
  const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose,
                        "file");
  write_sample_array(file, "images", H5T_IEEE_F32LE, content.shape, content.pixels);
  write_sample_array(file, "latents", H5T_IEEE_F32LE, content.latent_shape, content.latents);
  return path;
}

DrawingFileOptions drawings(std::int64_t inputs = 4, std::int64_t least = 1) {
  return {inputs, {3, 1, 2, 0}, least, "c.toml:4"};
}

std::string refused(const std::string& path, const DrawingFileOptions& options = drawings()) {
  return complaint_of([&] { DrawingFile(path, options); });
}

TEST_CASE("a drawing is read with its channels side by side, and the numbers that it is drawn from",
          "[drawings]") {
  const TestFolder folder("drawings_exact");
  const DrawingFile file(write(folder, "d.h5", {}), drawings());
  REQUIRE(file.num_rows() == 2);
  std::vector<float> pixels(6), latents(4);
  SampleSlot slot;
  slot.drawing = pixels.data();
  slot.features = latents.data();
  file.row(1, slot);
  CHECK(pixels == std::vector<float>{6, 8, 10, 7, 9, 11});
  CHECK(latents == std::vector<float>{104, 105, 106, 107});
}

TEST_CASE("files of drawings that do not fit are refused with what is wrong", "[drawings]") {
  const TestFolder folder("drawings_bad");
  const std::string good = write(folder, "good.h5", {});
  CHECK_THAT(refused(folder.path("none.h5")),
             Catch::Contains("c.toml:4: ") && Catch::Contains("does not exist"));
  CHECK_THAT(
      refused(good, drawings(5)),
      Catch::Contains("/latents is not what the model takes (its shape is (2, 4) and not (2, 5))"));
  CHECK_THAT(refused(good, drawings(4, 3)), Catch::Contains("2 images are too few"));
  DrawingContent content;
  content.shape = {2, 3, 2, 1};
  CHECK_THAT(refused(write(folder, "shape.h5", content)),
             Catch::Contains("/images is not what the model takes"));
  content = {};
  content.latents.resize(4);
  content.latent_shape = {1, 4};
  CHECK_THAT(refused(write(folder, "few.h5", content)),
             Catch::Contains("/latents is not what the model takes"));
  content = {};
  content.latents[6] = std::numeric_limits<double>::infinity();
  CHECK_THAT(refused(write(folder, "inf.h5", content)),
             Catch::Contains("row 1 of /latents holds NaN or infinity"));
  content = {};
  content.pixels[2] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THAT(refused(write(folder, "nan.h5", content)), Catch::Contains("image 0 holds NaN"));
}

}  // namespace
}  // namespace pptrain
