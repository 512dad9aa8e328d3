#include "io/samples/image_file.hpp"

#include <limits>
#include <map>
#include <numeric>

#include "data/files.hpp"
#include "io/hdf5_samples.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

/// Three images of two channels, two rows and four columns.
struct ImageContent {
  std::vector<hsize_t> shape = {3, 2, 2, 4};
  std::vector<double> pixels = std::vector<double>(48);
  hid_t type = H5T_IEEE_F32LE;
  std::vector<double> labels = {0, 4, 2};

  ImageContent() { std::iota(pixels.begin(), pixels.end(), 0.0); }
};

std::string write(const TestFolder& folder, const std::string& name, const ImageContent& content) {
  const std::string path = folder.path(name);
  const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose,
                        "file");
  write_sample_array(file, "images", content.type, content.shape, content.pixels);
  write_sample_array(file, "labels", H5T_STD_I32LE, {content.labels.size()}, content.labels);
  return path;
}

ImageFileOptions images(const ImageShape& shape = {2, 2, 4, 2}, std::int64_t classes = 5,
                        std::int64_t min_rows = 1) {
  return {shape, classes, min_rows, "c.toml:4"};
}

std::string refused(const std::string& path, const ImageFileOptions& options = images()) {
  return complaint_of([&] { ImageFile(path, options); });
}

std::vector<float> pixels_of(const ImageFile& file, std::int64_t index) {
  std::vector<float> pixels(16);
  SampleSlot slot;
  slot.features = pixels.data();
  file.row(index, slot);
  return pixels;
}

TEST_CASE("images are read patch by patch, each by channel, row and column", "[images]") {
  const TestFolder folder("images_exact");
  const ImageFile file(write(folder, "i.h5", {}), images());
  REQUIRE(file.num_rows() == 3);
  CHECK(pixels_of(file, 0) ==
        std::vector<float>{0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15});
  CHECK(pixels_of(file, 2).front() == 32.0F);
  std::int32_t label = -1;
  SampleSlot slot;
  slot.targets = &label;
  file.row(1, slot);
  CHECK(label == 4);
  const ImageFile whole(folder.path("i.h5"), images({2, 2, 4, 0}));
  CHECK(pixels_of(whole, 1)[5] == 21.0F);
}

TEST_CASE("pixels of 8 bits become numbers from -1 to 1", "[images]") {
  const TestFolder folder("images_bytes");
  ImageContent content;
  content.type = H5T_STD_U8LE;
  content.pixels[0] = 255.0;
  content.pixels[1] = 0.0;
  const ImageFile file(write(folder, "i.h5", content), images());
  CHECK(pixels_of(file, 0)[0] == 1.0F);
  CHECK(pixels_of(file, 0)[1] == -1.0F);
  CHECK(pixels_of(file, 0)[2] == 4.0F / 127.5F - 1.0F);
}

/// What the model reads of the first image as sample `number` of the training, row by row.
std::vector<float> trained_on(const ImageFile& file, std::int64_t number) {
  std::vector<float> pixels(16);
  SampleSlot slot;
  slot.features = pixels.data();
  file.training_row(0, number, slot);
  return pixels;
}

TEST_CASE("images of the training are mirrored and moved, each pixel with its neighbours",
          "[images]") {
  const TestFolder folder("images_augmented");
  const std::string path = write(folder, "i.h5", {});
  ImageFileOptions options = images({2, 2, 4, 0});
  const ImageFile plain(path, options);
  options.augmentation = {1, true, 7};
  const ImageFile changed(path, options), again(path, options);
  std::map<std::vector<float>, int> seen;
  for (std::int64_t number = 0; number < 400; ++number) {
    const std::vector<float> pixels = trained_on(changed, number);
    CHECK(pixels == trained_on(again, number));
    ++seen[pixels];
  }
  // Three places in each direction, and their mirror images.
  CHECK(seen.size() == 18);
  for (const auto& [pixels, times] : seen)
    CHECK(times > 5);  // 22 expected, with a deviation of 4.6
  CHECK(seen.contains({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  CHECK(seen.contains({3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12}));
  CHECK(seen.contains({5, 6, 7, 0, 0, 0, 0, 0, 13, 14, 15, 0, 0, 0, 0, 0}));
  // Images that are held back stay as they are.
  CHECK(pixels_of(changed, 0) == pixels_of(plain, 0));
  CHECK(trained_on(plain, 3) == pixels_of(plain, 0));
}

TEST_CASE("files of images that do not fit are refused with what is wrong", "[images]") {
  const TestFolder folder("images_bad");
  const std::string good = write(folder, "good.h5", {});
  CHECK_THAT(refused(folder.path("none.h5")),
             Catch::Contains("c.toml:4: ") && Catch::Contains("does not exist"));
  CHECK_THAT(refused(folder.write("text.h5", "no hdf5")),
             Catch::Contains("cannot be read as HDF5"));
  CHECK_THAT(
      refused(good, images({3, 2, 4, 2})),
      Catch::Contains(
          "/images is not what the model takes (its shape is (3, 2, 2, 4) and not (n, 3, 2, 4))") &&
          Catch::Contains("config.json"));
  CHECK_THAT(refused(good, images({2, 2, 4, 2}, 4)),
             Catch::Contains("image 1 has label 4 (the model has classes 0 to 3)"));
  CHECK_THAT(refused(good, images({2, 2, 4, 2}, 5, 8)), Catch::Contains("3 images are too few"));
  ImageContent content;
  content.labels = {0, 1};
  CHECK_THAT(refused(write(folder, "labels.h5", content)),
             Catch::Contains("/labels is not what the model takes"));
  content = {};
  content.pixels[20] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THAT(refused(write(folder, "nan.h5", content)), Catch::Contains("image 1 holds NaN"));
  content = {};
  content.type = H5T_STD_I32LE;
  content.pixels[40] = 256.0;
  CHECK_THAT(refused(write(folder, "ints.h5", content)),
             Catch::Contains("image 2 has a pixel that is not from 0 to 255"));
  content = {};
  content.shape = {0, 2, 2, 4};
  content.pixels = content.labels = {};
  CHECK_THAT(refused(write(folder, "empty.h5", content)), Catch::Contains("0 images are too few"));
}

}  // namespace
}  // namespace pptrain
