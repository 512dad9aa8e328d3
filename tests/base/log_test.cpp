#include "base/log.hpp"

#include <fstream>
#include <iterator>

#include "base/in_process.hpp"
#include "data/files.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// What a process writes that says something in every way there is.
Ended all_ways(Verbosity verbosity) {
  return in_process([&] {
    set_verbosity(verbosity);
    log_debug("{} part", "a");
    log_info("an {}", "info");
    log_notice("a notice");
    log_warning("a warning");
    log_error("an error");
    print_result("a result\n");
    print_step("a step\n");
    print_detail("a detail\n");
  });
}

std::string log_in(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST_CASE("errors, warnings, notices and results come always, and the rest by verbosity",
          "[base]") {
  const std::string always =
      "pptrain: a notice\npptrain: warning: a warning\npptrain: error: an error\n";
  const Ended quiet = all_ways(Verbosity::quiet);
  CHECK(quiet.said == always);
  CHECK(quiet.printed == "a result\n");
  const Ended normal = all_ways(Verbosity::normal);
  CHECK(normal.said == "an info\n" + always);
  CHECK(normal.printed == "a result\na step\n");
  const Ended verbose = all_ways(Verbosity::verbose);
  CHECK(verbose.said == "a part\nan info\n" + always);
  CHECK(verbose.printed == "a result\na step\na detail\n");
}

TEST_CASE("the log file has all from the start of the program on, however quiet it is", "[base]") {
  const TestFolder folder("log");
  const Ended ended = in_process([&] {
    set_verbosity(Verbosity::quiet);
    print_step("a step\n");
    log_debug("a part");
    log_info("an info");
    add_log_file(folder.path("log"));
    print_detail("a detail\n");
    print_result("a result\n");
    log_warning("a warning");
    log_debug("another part");
  });
  CHECK(ended.printed == "a result\n");
  CHECK(log_in(folder.path("log")) ==
        "a step\na part\nan info\na detail\na result\na warning\nanother part\n");
}

TEST_CASE("lines of ranks can be told apart", "[base]") {
  const auto said_by = [](int rank, int num_ranks) {
    return in_process([&] {
             set_log_rank(rank, num_ranks);
             log_error("lost");
             log_info("here");
           })
        .said;
  };
  CHECK(said_by(2, 4) == "rank 2: pptrain: error: lost\nrank 2: here\n");
  CHECK(said_by(0, 4) == "pptrain: error: lost\nhere\n");
}

TEST_CASE("each line of a message tells of its rank, within the columns that there are", "[base]") {
  CHECK(in_process([] {
          set_log_rank(2, 4);
          log_warning("slow\nas the link is\n\nand stays");
        }).said ==
        "rank 2: pptrain: warning: slow\nrank 2: as the link is\nrank 2: \nrank 2: and stays\n");
  CHECK(in_process([] {
          ::setenv("COLUMNS", "40", 1);
          set_log_rank(2, 4);
          log_info("one two three four five six seven eight nine ten");
        }).said == "rank 2: one two three four five six\nrank 2:   seven eight nine ten\n");
}

TEST_CASE("a log file that cannot be written is warned of once", "[base]") {
  const TestFolder folder("log_full");
  for (const std::string& path : {std::string("/dev/full"), folder.path("")}) {
    CAPTURE(path);
    const Ended ended = in_process([&] {
      add_log_file(path);
      for (int i = 0; i < 3; ++i) log_info("line {}", i);
    });
    CHECK(ended.code == 0);
    const std::size_t warning = ended.said.find("pptrain: warning: the log ends here: ");
    REQUIRE(warning != std::string::npos);
    CHECK(ended.said.find("warning", warning + 10) == std::string::npos);
    CHECK_THAT(ended.said, Catch::Contains("line 0\n") && Catch::Contains("line 2\n"));
  }
}

}  // namespace
}  // namespace pptrain
