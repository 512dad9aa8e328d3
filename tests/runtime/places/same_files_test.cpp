#include "runtime/places/same_files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "data/files.hpp"
#include "runtime/job_folder.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;
using test::world_rank;

void write_letters(const std::string& path, std::size_t size,
                   const std::vector<std::size_t>& other_bytes = {}) {
  std::string text(size, 'a');
  for (const std::size_t place : other_bytes) text[place] = 'b';
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("a digest tells any byte of a small file, and first, last and some of a large one",
          "[np1]") {
  const TestFolder folder("digests");
  const std::string path = folder.path("file");
  const auto digest = [&](std::size_t size, const std::vector<std::size_t>& other_bytes = {}) {
    write_letters(path, size, other_bytes);
    return file_digest(path);
  };
  CHECK(digest(1000) == digest(1000));
  CHECK(digest(0) != digest(1));
  for (const std::size_t size : {std::size_t{1000}, std::size_t{3 << 20}}) {
    for (const std::size_t place : {std::size_t{0}, size / 3, size - 1})
      CHECK(digest(size) != digest(size, {place}));
  }
  const std::size_t large = (64 << 20) + 12345;
  for (const std::size_t place : {std::size_t{0}, large - 1})
    CHECK(digest(large) != digest(large, {place}));
  CHECK(digest(large) != digest(large + 1));
  CHECK(file_digest(folder.path("nothing")) == "absent");
  CHECK(file_digest(fs::path(path).parent_path()) == "absent");
}

TEST_CASE("the files of a job are those that it would read, with their indexes", "[np1]") {
  const TestFolder folder("files");
  Config config;
  config.data.train = {"a.txt", "b.bin"};
  config.data.validation = {"c.h5"};
  config.data.mix = {{{"d_text"}, 1.0}};
  config.model.from = folder.path("model");
  fs::create_directories(config.model.from);
  write_letters(config.model.from + "/model-00001-of-00002.safetensors", 10);
  config.model.initial_parameters = "start.h5";
  const std::vector<std::string> files = files_of_hosts(config);
  for (const std::string& file :
       {std::string("a.txt"), std::string("b.bin"), std::string("b.idx"), std::string("c.h5"),
        std::string("d_text"), std::string("d_text.bin"), std::string("d_text.idx"),
        std::string("start.h5"), config.model.from + "/config.json",
        config.model.from + "/model.safetensors",
        config.model.from + "/model.safetensors.index.json",
        config.model.from + "/model-00001-of-00002.safetensors"}) {
    INFO(file);
    CHECK(std::find(files.begin(), files.end(), file) != files.end());
  }
  config = Config();
  config.data.train = {synthetic_data};
  CHECK(files_of_hosts(config).empty());
}

TEST_CASE("all ranks refuse a file of which one has another copy, and take equal copies", "[np4]") {
  const test::JobFolder folder;
  Waiter waiter(600.0, CoreUse::shared);
  const std::string own = fmt::format("{}/rank-{}", folder.path(), world_rank());
  fs::create_directories(own);
  const fs::path before = fs::current_path();
  fs::current_path(own);  // so that a relative path is another file for each
  const auto complaint = [&](std::size_t size, const std::vector<std::size_t>& other_bytes) {
    write_letters("data", size, other_bytes);
    return complaint_of([&] { check_same_files(MPI_COMM_WORLD, waiter, {"data", "none"}); });
  };
  CHECK(complaint(100, {}) == "nothing was refused");
  const std::string other =
      complaint(100, world_rank() == 2 ? std::vector<std::size_t>{50} : std::vector<std::size_t>{});
  CHECK_THAT(other, Catch::StartsWith("data: the hosts of the job have different copies (on ") &&
                        Catch::Contains("(ranks 0-1, 3) 100 bytes, xxh3 ") &&
                        Catch::Contains("(rank 2) 100 bytes, xxh3 "));
  CHECK_THAT(complaint(world_rank() == 0 ? 100 : 101, {}),
             Catch::Contains("(rank 0) 100 bytes") && Catch::Contains("(ranks 1-3) 101 bytes"));
  if (world_rank() == 3) fs::remove("data");
  const std::string absent =
      complaint_of([&] { check_same_files(MPI_COMM_WORLD, waiter, {"data"}); });
  CHECK_THAT(absent, Catch::Contains("(rank 3) absent"));
  const std::string digest = world_rank() == 1 ? "one" : "another";
  CHECK_THAT(complaint_of([&] { check_same_digest(MPI_COMM_WORLD, waiter, "step-1.h5", digest); }),
             Catch::StartsWith("step-1.h5: the hosts of the job have different copies") &&
                 Catch::Contains("(rank 1) one"));
  fs::current_path(before);
}

}  // namespace pptrain
