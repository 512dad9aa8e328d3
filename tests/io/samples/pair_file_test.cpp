#include "io/samples/pair_file.hpp"

#include <chrono>
#include <filesystem>

#include "base/error.hpp"
#include "data/files.hpp"
#include "io/hdf5_samples.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

/// Two samples with sources of four places and three targets.
struct Content {
  std::vector<hsize_t> source_shape = {2, 4}, target_shape = {2, 3};
  std::vector<double> source = {5, 1, 7, 1, 8, 9, 0, 2};
  std::vector<double> target = {4, -100, 6, 3, 2, 0};
  hid_t source_type = H5T_STD_I32LE;
};

std::string write(const TestFolder& folder, const std::string& name, const Content& content) {
  const std::string path = folder.path(name);
  const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose,
                        "file");
  write_sample_array(file, "source", content.source_type, content.source_shape, content.source);
  write_sample_array(file, "target", H5T_STD_I32LE, content.target_shape, content.target);
  return path;
}

/// The decoder begins with 9; 1 fills sources up.
PairFileOptions options() { return {{4, 9, 1}, 3, 10, 1, "c.toml:4"}; }

std::string refused(const std::string& path, const PairFileOptions& o = options()) {
  return complaint_of([&] { PairFile(path, o); });
}

TEST_CASE("pairs are read as they were written, with what follows from them", "[pairs]") {
  const TestFolder folder("pairs_exact");
  const PairFile file(write(folder, "p.h5", {}), options());
  REQUIRE(file.num_rows() == 2);
  std::vector<std::uint32_t> tokens(4), decoder(3);
  std::vector<std::int32_t> targets(3);
  std::int32_t length = -1;
  std::int64_t num_targets = -1;
  SampleSlot slot;
  slot.tokens = tokens.data();
  slot.decoder_tokens = decoder.data();
  slot.targets = targets.data();
  slot.input_length = &length;
  slot.num_targets = &num_targets;
  file.row(0, slot);
  CHECK(tokens == std::vector<std::uint32_t>{5, 1, 7, 1});
  CHECK(length == 3);  // what fills up may stand within a source too
  CHECK(targets == std::vector<std::int32_t>{4, no_target, 6});
  CHECK(decoder == std::vector<std::uint32_t>{9, 4, 1});
  CHECK(num_targets == 2);
  file.row(1, slot);
  CHECK(length == 4);
  CHECK(decoder == std::vector<std::uint32_t>{9, 3, 2});
  SampleSlot count;
  count.num_targets = &num_targets;
  file.row(1, count);
  CHECK(num_targets == 3);
}

TEST_CASE("files of pairs that do not fit are refused with what is wrong", "[pairs]") {
  const TestFolder folder("pairs_bad");
  const std::string good = write(folder, "good.h5", {});
  CHECK_THAT(refused(folder.path("none.h5")),
             Catch::Contains("c.toml:4: ") && Catch::Contains("does not exist"));
  CHECK_THAT(refused(folder.write("text.h5", "no hdf5")),
             Catch::Contains("cannot be read as HDF5 with /source and /target"));
  CHECK_THAT(
      refused(good, {{5, 9, 1}, 3, 10, 1, "c.toml:4"}),
      Catch::Contains("/source is not what the model takes (its shape is (2, 4) and not (n, 5))") &&
          Catch::Contains("source_length"));
  CHECK_THAT(
      refused(good, {{4, 9, 1}, 2, 10, 1, "c.toml:4"}),
      Catch::Contains("/target is not what the model takes (its shape is (2, 3) and not (2, 2))"));
  CHECK_THAT(
      refused(good, {{4, 1, 1}, 3, 9, 1, "c.toml:4"}),
      Catch::Contains("sample 1 has 9 at position 1 of /source (the model has tokens 0 to 8)"));
  CHECK_THAT(refused(good, {{4, 9, 1}, 3, 10, 8, "c.toml:4"}), Catch::Contains("2 samples"));
  Content content;
  content.target[3] = -1;
  CHECK_THAT(refused(write(folder, "target.h5", content)),
             Catch::Contains("sample 1 has -1 at position 0 of /target") &&
                 Catch::Contains("-100 says that nothing"));
  content = {};
  content.source[3] = -100;
  CHECK_THAT(refused(write(folder, "source.h5", content)),
             Catch::Contains("sample 0 has -100 at position 3 of /source"));
  content = {};
  content.target.assign(6, -100);
  CHECK_THAT(refused(write(folder, "nothing.h5", content)),
             Catch::Contains("nothing is to be predicted"));
  content = {};
  for (const std::size_t i : {4, 5, 6, 7}) content.source[i] = 1;
  CHECK_THAT(refused(write(folder, "hollow.h5", content)),
             Catch::Contains("the source of sample 1 is empty") && Catch::Contains("pad_token_id"));
  content = {};
  content.source_type = H5T_IEEE_F32LE;
  CHECK_THAT(refused(write(folder, "reals.h5", content)),
             Catch::Contains("its values are not integers"));
  content = {};
  content.target_shape = {1, 3};
  content.target.resize(3);
  CHECK_THAT(refused(write(folder, "fewer.h5", content)),
             Catch::Contains("/target is not what the model takes"));
  content = {};
  content.source_shape = {0, 4};
  content.target_shape = {0, 3};
  content.source = content.target = {};
  CHECK_THAT(refused(write(folder, "empty.h5", content)), Catch::Contains("0 samples"));
}

/// What reading the first pair throws; "" where it does not.
std::string failure(const PairFile& file) {
  std::vector<std::uint32_t> tokens(4), decoder(3);
  SampleSlot slot;
  slot.tokens = tokens.data();
  slot.decoder_tokens = decoder.data();
  try {
    file.row(0, slot);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::runtime_failure);
    return error.what();
  }
  return "";
}

TEST_CASE("pairs that are written while a job reads them end it", "[pairs]") {
  const TestFolder folder("pairs_changed");
  const std::string path = write(folder, "p.h5", {});
  const auto written = std::filesystem::last_write_time(path) - std::chrono::hours(24);
  std::filesystem::last_write_time(path, written);
  const PairFile file(path, options());
  CHECK(failure(file).empty());
  std::filesystem::last_write_time(path, written + std::chrono::hours(1));
  CHECK(failure(file).starts_with(path + ": the file was changed while the job runs"));
}

TEST_CASE("numbers of a sample are below what they were found to be below", "[pairs]") {
  const SampleFile file("p.h5", "c.toml:4");
  CHECK_NOTHROW(file.check_still_below(10, false, 3, {0, 9}));
  CHECK_NOTHROW(file.check_still_below(10, true, 3, {0, no_target, 9}));
  for (const std::int64_t number : {std::int64_t{10}, std::int64_t{-1}, std::int64_t{no_target}}) {
    try {
      file.check_still_below(10, false, 3, {0, number});
      FAIL("it passes");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::runtime_failure);
      CHECK(error.what() == "p.h5: sample 3 has " + std::to_string(number) +
                                " now (all numbers there were from 0 to 9 when the job began); "
                                "leave the file as it is "
                                "while the job runs");
    }
  }
}

}  // namespace
}  // namespace pptrain
