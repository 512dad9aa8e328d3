#include "io/checkpoint/checkpoint_file.hpp"

#include <hdf5.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>

#include "data/files.hpp"
#include "io/checkpoint/checkpoint_folder.hpp"
#include "io/checkpoint/data_file.hpp"
#include "io/checkpoint/parameters.hpp"
#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

std::vector<float> values_of(const CheckpointDataset& dataset, int number) {
  std::vector<float> values(static_cast<std::size_t>(dataset.num_elements()));
  std::iota(values.begin(), values.end(), static_cast<float>(number) + 0.25F);
  return values;
}

CheckpointState some_state() {
  CheckpointState state = {
      7, 56, 1234, 512.0, 3, 1, "100 samples", "[job]\nname = \"x\"\n", "{}", "{\"a\": 1}", ""};
  state.profile += std::string(100000, ' ');  // more than an attribute may hold
  return state;
}

/// One of two parameters, of which one has a block and a bit, with what an optimizer keeps.
std::vector<CheckpointDataset> write_checkpoint(const std::string& path) {
  std::vector<CheckpointDataset> datasets = {{"/parameters/a.bias", {5}, 0, {}},
                                             {"/parameters/a.weight", {1025, 1024}, 0, {}},
                                             {"/optimizer/a.weight/m", {1025, 1024}, 0, {}}};
  lay_out_checkpoint(path, datasets);
  DataFile file(path, DataFile::Mode::write);
  for (std::size_t d = 0; d < datasets.size(); ++d) {
    const std::vector<float> values = values_of(datasets[d], static_cast<int>(d));
    for (int b = 0; b < datasets[d].num_blocks(); ++b) {
      const Interval block = datasets[d].block(b);
      const float* begin = values.data() + block.begin;
      datasets[d].digests.push_back(block_digest(begin, static_cast<std::size_t>(block.size())));
      file.write(datasets[d].block_offset(b), begin,
                 static_cast<std::size_t>(block.size()) * sizeof(float), "x");
    }
  }
  file.sync();
  seal_checkpoint(path, datasets, some_state());
  return datasets;
}

std::string complaint_about(const std::string& path) {
  return complaint_of([&] { check_blocks(path, read_checkpoint_head(path)); });
}

void flip(const std::string& path, std::int64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(offset);
  const char byte = static_cast<char>(file.get() ^ 0x10);
  file.seekp(offset);
  file.put(byte);
}

}  // namespace

TEST_CASE("a checkpoint is read as it was written, as a whole and as parameters") {
  const TestFolder folder("checkpoint");
  const std::string path = folder.path("step-7.h5");
  const std::vector<CheckpointDataset> written = write_checkpoint(path);
  const CheckpointHead head = read_checkpoint_head(path);
  check_blocks(path, head);
  CHECK(head.state.step == 7);
  CHECK(head.state.samples == 56);
  CHECK(head.state.loss_scale == 512.0);
  CHECK(head.state.good_steps == 3);
  CHECK(head.state.skipped_steps == 1);
  CHECK(head.state.configuration == some_state().configuration);
  CHECK(head.state.profile == some_state().profile);
  REQUIRE(head.datasets.size() == 3);
  CHECK(head.datasets[1].path == written[1].path);
  CHECK(head.datasets[1].digests == written[1].digests);
  CHECK(head.datasets[1].num_blocks() == 2);
  const ParameterFile parameters(path);
  CHECK(parameters.names() == std::vector<std::string>{"a.bias", "a.weight"});
  CHECK(parameters.read("a.weight", {1025, 1024}) == values_of(written[1], 1));
}

TEST_CASE("what is damaged, torn or foreign is refused by name") {
  const TestFolder folder("checkpoint");
  const std::string path = folder.path("step-7.h5");
  const std::vector<CheckpointDataset> written = write_checkpoint(path);
  flip(path, written[2].block_offset(1) + 3);
  CHECK_THAT(complaint_about(path), Catch::Contains("/optimizer/a.weight/m is damaged") &&
                                        Catch::Contains("elements 1048576 to 1049600"));
  CHECK_THROWS_AS(check_blocks(path, read_checkpoint_head(path), 0, 1), Error);
  flip(path, written[2].block_offset(1) + 3);
  flip(path, written[1].offset);
  CHECK_THAT(complaint_of([&] {
               ParameterFile(path).read("a.weight", {1025, 1024});
             }),
             Catch::Contains("damaged"));
  flip(path, written[1].offset);
  check_blocks(path, read_checkpoint_head(path));

  const auto whole = fs::file_size(path);
  for (const double share : {0.0, 0.001, 0.3, 0.8, 0.999}) {
    const std::string torn = folder.path("torn.h5");
    fs::copy_file(path, torn, fs::copy_options::overwrite_existing);
    fs::resize_file(torn, static_cast<std::uintmax_t>(share * static_cast<double>(whole)));
    CHECK_THAT(complaint_about(torn), Catch::Contains("torn"));
  }
  CHECK_THAT(complaint_about(folder.write("text.h5", "no HDF5 at all")),
             Catch::Contains("no checkpoint (it does not begin as an HDF5 file does)"));
  CHECK_THAT(complaint_about(test_data("gpt2-reference/tied/initial.h5")),
             Catch::Contains("no checkpoint"));
  CHECK_THAT(complaint_about(folder.path("none.h5")), Catch::Contains("does not exist"));
  CHECK_THAT(complaint_about(fs::path(path).parent_path()), Catch::Contains("it is a directory"));
}

TEST_CASE("a checkpoint with values that are no numbers is refused by name, wherever they are") {
  const TestFolder folder("checkpoint");
  for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
    for (const std::size_t place :
         {std::size_t{0}, std::size_t{17}, std::size_t{1 << 20}, std::size_t{1049599}}) {
      const std::string path = folder.path("step-7.h5");
      std::vector<CheckpointDataset> datasets = {{"/parameters/a.weight", {1025, 1024}, 0, {}}};
      lay_out_checkpoint(path, datasets);
      std::vector<float> values = values_of(datasets[0], 0);
      CHECK(all_finite(values.data(), values.size()));
      values[place] = bad;
      CHECK_FALSE(all_finite(values.data(), values.size()));
      DataFile file(path, DataFile::Mode::write);
      file.write(datasets[0].offset, values.data(), values.size() * sizeof(float), "x");
      for (int b = 0; b < 2; ++b) {
        const Interval block = datasets[0].block(b);
        datasets[0].digests.push_back(
            block_digest(values.data() + block.begin, static_cast<std::size_t>(block.size())));
      }
      seal_checkpoint(path, datasets, some_state());
      CHECK_THAT(complaint_about(path),
                 Catch::Contains("/parameters/a.weight holds NaN or infinity"));
      CHECK_THAT(complaint_of([&] {
                   ParameterFile(path).read("a.weight", {1025, 1024});
                 }),
                 Catch::Contains("/parameters/a.weight holds NaN or infinity"));
    }
  }
  const std::vector<float> extremes = {std::numeric_limits<float>::max(),
                                       std::numeric_limits<float>::lowest(),
                                       std::numeric_limits<float>::denorm_min(), -0.0F};
  CHECK(all_finite(extremes.data(), extremes.size()));
}

TEST_CASE("a flipped bit anywhere is found or changes nothing") {
  const TestFolder folder("checkpoint");
  const std::string path = folder.path("step-7.h5");
  const std::vector<CheckpointDataset> written = write_checkpoint(path);
  const auto size = static_cast<std::int64_t>(fs::file_size(path));
  std::int64_t found = 0;
  // Everything before the large values, and what lies behind them, byte by byte; a step that is no
  // power of two.
  const std::int64_t values_begin = written[1].offset + 64;
  const std::int64_t values_end = written[2].block_offset(1) + 4096;
  for (std::int64_t offset = 0; offset < size;
       offset += offset < values_begin || offset > values_end ? 37 : 999983) {
    flip(path, offset);
    try {
      const CheckpointHead head = read_checkpoint_head(path);
      check_blocks(path, head);
      CHECK(head.state.configuration == some_state().configuration);
      CHECK(head.datasets.size() == 3);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::bad_input);
      ++found;
    }
    flip(path, offset);
  }
  CHECK(found > 10);
}

TEST_CASE("a flipped bit among many datasets is found or changes nothing") {
  const TestFolder folder("checkpoint");
  const std::string path = folder.path("step-7.h5");
  std::vector<CheckpointDataset> datasets;
  for (int d = 0; d < 20; ++d)
    datasets.push_back({fmt::format("/parameters/h.{}.ln_1.weight", d), {2}, 0, {}});
  lay_out_checkpoint(path, datasets);
  const float values[2] = {1.0F, 2.0F};
  DataFile file(path, DataFile::Mode::write);
  for (CheckpointDataset& dataset : datasets) {
    dataset.digests.push_back(block_digest(values, 2));
    file.write(dataset.offset, values, sizeof(values), "x");
  }
  seal_checkpoint(path, datasets, some_state());
  const auto size = static_cast<std::int64_t>(fs::file_size(path));
  const std::string expected = values_digest(read_checkpoint_head(path));
  int found = 0;
  for (std::int64_t offset = 0; offset < size; offset += 29) {
    flip(path, offset);
    try {
      const CheckpointHead head = read_checkpoint_head(path);
      check_blocks(path, head);
      CHECK(values_digest(head) == expected);
    } catch (const Error&) {
      ++found;
    }
    flip(path, offset);
  }
  CHECK(found > 100);
}

TEST_CASE(
    "a checkpoint for which the disk is too small, by however little, is a failure and nothing "
    "worse") {
  const TestFolder folder("checkpoint");
  const std::string path = folder.path("step-1.h5");
  const auto write_small = [&] {
    std::vector<CheckpointDataset> datasets;
    for (int d = 0; d < 40; ++d)
      datasets.push_back({fmt::format("/parameters/layer.{}.weight", d), {8, 16}, 0, {}});
    lay_out_checkpoint(path, datasets);
    DataFile file(path, DataFile::Mode::write);
    for (CheckpointDataset& dataset : datasets) {
      const std::vector<float> values = values_of(dataset, 1);
      dataset.digests.push_back(block_digest(values.data(), values.size()));
      file.write(dataset.offset, values.data(), values.size() * sizeof(float), dataset.path);
    }
    seal_checkpoint(path, datasets, some_state());
  };
  write_small();
  const std::uintmax_t whole = fs::file_size(path);
  int failed = 0;
  for (rlim_t limit = 0; limit <= whole; limit += limit + 2048 < whole ? 2048 : 1) {
    if (limit + 2048 >= whole && limit + 4 < whole) limit = whole - 4;
    INFO("a limit of " << limit << " of " << whole << " bytes");
    fs::remove(path);
    const int status = in_child([&] {
      limit_files(limit);
      try {
        write_small();
      } catch (const Error& error) {
        H5close();  // as the end of the program does
        ::_exit(static_cast<int>(error.code()));
      }
      H5close();
    });
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == (limit < whole ? 4 : 0));
    failed += WEXITSTATUS(status) == 4 ? 1 : 0;
  }
  CHECK(failed > 20);
}

TEST_CASE("checkpoints appear whole, the newest are kept, and what is half written goes") {
  const TestFolder folder("checkpoint");
  const std::string run = folder.path("run");
  const CheckpointFolder checkpoints(run);
  CHECK(checkpoints.files().empty());
  checkpoints.prepare();
  for (const std::int64_t step : {9, 10, 100, 3}) {
    std::ofstream(run + "/checkpoints/step-8.h5.partial") << "torn";
    checkpoints.prepare();
    CHECK_FALSE(fs::exists(run + "/checkpoints/step-8.h5.partial"));
    std::ofstream(checkpoints.partial_file(step)) << "whole";
    checkpoints.publish(step);
    checkpoints.remove_old(2);
  }
  // Times count for nothing: clocks differ, and copies have new ones.
  CHECK(checkpoints.files() ==
        std::vector<std::string>{checkpoints.file(100), checkpoints.file(10)});
  set_aside({checkpoints.file(100)});
  CHECK(checkpoints.files() == std::vector<std::string>{checkpoints.file(10)});
  CHECK(fs::exists(checkpoints.file(100) + ".damaged"));
  CHECK(step_of_checkpoint("a/step-12.h5") == 12);
  for (const char* other :
       {"step-.h5", "step-1.h5.partial", "step-1x.h5", "step--1.h5", "best.h5"}) {
    CHECK_FALSE(step_of_checkpoint(other).has_value());
  }
  CHECK_THROWS_AS(CheckpointFolder("/proc/nowhere").prepare(), Error);
}

TEST_CASE(
    "the run that wrote a checkpoint last comes first, and a folder that cannot be read is an "
    "error") {
  const TestFolder folder("checkpoint");
  const auto add = [&](const std::string& run, std::int64_t step, int seconds) {
    const CheckpointFolder checkpoints(folder.path("out/job/" + run));
    checkpoints.prepare();
    std::ofstream(checkpoints.file(step)) << "whole";
    fs::last_write_time(checkpoints.file(step),
                        fs::file_time_type() + std::chrono::seconds(seconds));
    return checkpoints.file(step);
  };
  add("a", 5, 10);
  const std::string b = add("b", 30, 30);
  const std::string later = add("b", 40, 1);  // the clock was put back
  fs::create_directories(folder.path("out/job/empty/checkpoints"));
  CHECK(runs_with_checkpoints(folder.path("out"), "job") ==
        std::vector<std::string>{folder.path("out/job/b"), folder.path("out/job/a")});
  CHECK(CheckpointFolder(folder.path("out/job/b")).files() == std::vector<std::string>{later, b});
  CHECK(runs_with_checkpoints(folder.path("out"), "other").empty());
  fs::create_directories(folder.path("out/job/c"));
  fs::create_symlink("checkpoints", folder.path("out/job/c/checkpoints"));
  CHECK_THAT(complaint_of([&] { runs_with_checkpoints(folder.path("out"), "job"); }),
             Catch::Contains("c/checkpoints: the folder cannot be read"));
}

}  // namespace pptrain
