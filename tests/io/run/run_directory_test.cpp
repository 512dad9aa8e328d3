#include "io/run/run_directory.hpp"

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

TEST_CASE("run directories are named by job and start and never shared", "[run_directory]") {
  const TestFolder folder("run_directory");
  std::set<std::string> paths;
  for (int i = 0; i < 5; ++i)
    paths.insert(RunDirectory(folder.path("out"), "job", "c.toml:1").path());
  CHECK(paths.size() == 5);
  const std::regex form(".*/out/job/\\d{4}-\\d\\d-\\d\\d_\\d\\d-\\d\\d-\\d\\d(-\\d+)?");
  for (const std::string& path : paths) {
    CHECK(std::regex_match(path, form));
    CHECK(std::filesystem::is_directory(path));
  }
}

TEST_CASE("a run directory is that of one job at a time", "[run_directory]") {
  const TestFolder folder("run_locked");
  std::string path;
  {
    const RunDirectory first(folder.path("out"), "job", "");
    path = first.path();
    CHECK_FALSE(RunDirectory::existing(path));
  }
  const std::optional<RunDirectory> next = RunDirectory::existing(path);
  REQUIRE(next);
  CHECK(next->path() == path);
  std::filesystem::create_symlink("gone", path + "/checkpoints");  // the other disk was emptied
  CHECK(complaint_of([&] {
          next->check_writable();
        }).find("checkpoints: the run directory cannot be written") != std::string::npos);
  std::filesystem::remove(path + "/checkpoints");
  next->check_writable();
  CHECK_FALSE(RunDirectory::existing(path));
}

TEST_CASE("files of a run are written as given", "[run_directory]") {
  const TestFolder folder("run_files");
  const RunDirectory run(folder.path("out"), "job", "c.toml:1");
  run.write("plan.json", "{\"a\": 1}\n");
  std::ifstream file(run.path() + "/plan.json");
  CHECK(std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()} ==
        "{\"a\": 1}\n");
  CHECK(complaint_of([&] { run.write("no/such.json", ""); }).find("cannot be written") !=
        std::string::npos);
}

TEST_CASE("an output directory that cannot be written is refused before anything is",
          "[run_directory]") {
  const TestFolder folder("run_refused");
  const std::string in_the_way = folder.write("file", "text");
  for (const std::string& output : {in_the_way, in_the_way + "/below"}) {
    const std::string start = "c.toml:2: the output directory " + output + " cannot be written (";
    CHECK(complaint_of([&] { check_output_directory(output, "c.toml:2"); }).starts_with(start));
    CHECK(complaint_of([&] { RunDirectory(output, "job", "c.toml:2"); }).starts_with(start));
  }
  CHECK(complaint_of([&] { RunDirectory("/proc/nothing", "job", ""); }).find("cannot be written") !=
        std::string::npos);
  check_output_directory(folder.path("new/deep"), "c.toml:2");
  CHECK_FALSE(std::filesystem::exists(folder.path("new")));
}

TEST_CASE("an output directory without permission is refused", "[run_directory]") {
  if (::geteuid() == 0) {
    WARN("skipped: root may write everywhere");
    return;
  }
  const TestFolder folder("run_permission");
  std::filesystem::create_directories(folder.path("closed"));
  ::chmod(folder.path("closed").c_str(), 0500);
  CHECK(complaint_of([&] {
          check_output_directory(folder.path("closed/out"), "");
        }).find("Permission denied") != std::string::npos);
  CHECK(complaint_of([&] {
          RunDirectory(folder.path("closed/out"), "job", "");
        }).find("Permission denied") != std::string::npos);
  ::chmod(folder.path("closed").c_str(), 0700);
}

}  // namespace
}  // namespace pptrain
