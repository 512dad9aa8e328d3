#include "io/samples/masked_text_file.hpp"

#include "data/files.hpp"
#include "io/hdf5_samples.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

/// Two samples of three positions.
struct Content {
  std::vector<hsize_t> shape = {2, 3};
  std::vector<double> tokens = {5, 6, 7, 8, 9, 0};
  std::vector<double> types = {0, 0, 1, 0, 1, 1};
  std::vector<double> labels = {-100, 3, -100, 9, 0, -100};
  std::vector<double> mask = {};  ///< none: there is no such dataset
  hid_t token_type = H5T_STD_I32LE;
};

std::string write(const TestFolder& folder, const std::string& name, const Content& content) {
  const std::string path = folder.path(name);
  const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose,
                        "file");
  write_sample_array(file, "input_ids", content.token_type, content.shape, content.tokens);
  write_sample_array(file, "token_type_ids", H5T_STD_I32LE, content.shape, content.types);
  write_sample_array(file, "labels", H5T_STD_I32LE, content.shape, content.labels);
  if (!content.mask.empty())
    write_sample_array(file, "attention_mask", H5T_STD_U8LE, content.shape, content.mask);
  return path;
}

MaskedTextOptions options() { return {3, 10, 2, 1, "c.toml:4"}; }

std::string refused(const std::string& path, const MaskedTextOptions& o = options()) {
  return complaint_of([&] { MaskedTextFile(path, o); });
}

TEST_CASE("samples of masked text are read as they were written", "[masked_text]") {
  const TestFolder folder("masked_exact");
  const MaskedTextFile file(write(folder, "m.h5", {}), options());
  REQUIRE(file.num_rows() == 2);
  std::vector<std::uint32_t> tokens(3), types(3);
  std::vector<std::int32_t> labels(3);
  std::int64_t num_targets = -1;
  SampleSlot slot;
  slot.tokens = tokens.data();
  slot.token_types = types.data();
  slot.targets = labels.data();
  slot.num_targets = &num_targets;
  file.row(0, slot);
  CHECK(tokens == std::vector<std::uint32_t>{5, 6, 7});
  CHECK(types == std::vector<std::uint32_t>{0, 0, 1});
  CHECK(labels == std::vector<std::int32_t>{no_target, 3, no_target});
  CHECK(num_targets == 1);
  SampleSlot count;
  count.num_targets = &num_targets;
  file.row(1, count);
  CHECK(num_targets == 2);
}

TEST_CASE("samples of masked text are as long as their mask says", "[masked_text]") {
  const TestFolder folder("masked_lengths");
  Content content;
  const auto lengths = [&](const char* name) {
    const MaskedTextFile file(write(folder, name, content), options());
    std::vector<std::int32_t> found(2);
    for (std::int64_t row = 0; row < 2; ++row) {
      SampleSlot slot;
      slot.input_length = &found[static_cast<std::size_t>(row)];
      file.row(row, slot);
    }
    return std::pair(file.has_padding(), found);
  };
  CHECK(lengths("none.h5") == std::pair(false, std::vector<std::int32_t>{3, 3}));
  content.mask = {1, 1, 1, 1, 1, 1};
  CHECK(lengths("ones.h5") == std::pair(false, std::vector<std::int32_t>{3, 3}));
  content.mask = {1, 1, 0, 1, 1, 1};
  CHECK(lengths("padded.h5") == std::pair(true, std::vector<std::int32_t>{2, 3}));
}

TEST_CASE("masks that are no padding behind a text are refused", "[masked_text]") {
  const TestFolder folder("masked_masks");
  const auto refused_with = [&](const std::vector<double>& mask) {
    Content content;
    content.mask = mask;
    return refused(write(folder, "m.h5", content));
  };
  CHECK_THAT(refused_with({1, 1, 1, 0, 1, 1}),
             Catch::Contains("sample 1 has 0 at position 0 of /attention_mask"));
  CHECK_THAT(refused_with({1, 0, 1, 1, 1, 1}),
             Catch::Contains("sample 0 has 1 at position 2 of /attention_mask") &&
                 Catch::Contains("put padding behind the text"));
  CHECK_THAT(refused_with({1, 1, 1, 1, 1, 2}),
             Catch::Contains("sample 1 has 2 at position 2 of /attention_mask"));
  CHECK_THAT(refused_with({1, 0, 0, 1, 1, 1}),
             Catch::Contains("sample 0 has a label at position 1") &&
                 Catch::Contains("as /attention_mask says"));
}

TEST_CASE("files of masked text that do not fit are refused with what is wrong", "[masked_text]") {
  const TestFolder folder("masked_bad");
  const std::string good = write(folder, "good.h5", {});
  CHECK_THAT(refused(folder.path("none.h5")),
             Catch::Contains("c.toml:4: ") && Catch::Contains("does not exist"));
  CHECK_THAT(refused(folder.write("text.h5", "no hdf5")),
             Catch::Contains("cannot be read as HDF5"));
  CHECK_THAT(refused(good, {4, 10, 2, 1, "c.toml:4"}),
             Catch::Contains(
                 "/input_ids is not what the model takes (its shape is (2, 3) and not (n, 4))") &&
                 Catch::Contains("sequence_length"));
  CHECK_THAT(
      refused(good, {3, 9, 2, 1, "c.toml:4"}),
      Catch::Contains("sample 1 has 9 at position 1 of /input_ids (the model has tokens 0 to 8)"));
  CHECK_THAT(
      refused(good, {3, 10, 1, 1, "c.toml:4"}),
      Catch::Contains(
          "sample 0 has 1 at position 2 of /token_type_ids (the model has token types 0 to 0)"));
  CHECK_THAT(refused(good, {3, 10, 2, 8, "c.toml:4"}), Catch::Contains("2 samples"));
  Content content;
  content.labels[0] = -1;
  CHECK_THAT(refused(write(folder, "label.h5", content)),
             Catch::Contains("sample 0 has -1 at position 0 of /labels") &&
                 Catch::Contains("-100 says that there is no"));
  content = {};
  content.labels.assign(6, -100);
  CHECK_THAT(refused(write(folder, "unlabelled.h5", content)),
             Catch::Contains("no position has a label"));
  content = {};
  content.token_type = H5T_IEEE_F32LE;
  CHECK_THAT(refused(write(folder, "reals.h5", content)),
             Catch::Contains("its values are not integers"));
  content = {};
  content.shape = {0, 3};
  content.tokens = content.types = content.labels = {};
  CHECK_THAT(refused(write(folder, "empty.h5", content)), Catch::Contains("0 samples"));
}

}  // namespace
}  // namespace pptrain
