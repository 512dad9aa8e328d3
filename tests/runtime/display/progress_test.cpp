#include "runtime/display/progress.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>

#include "base/log.hpp"
#include "runtime/display/search_display.hpp"
#include "runtime/record/summary.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a progress line fits the screen", "[progress][np1]") {
  const Screen wide = {true, false, 80};
  CHECK(progress_line(wide, 0.5, "step 5/10") == "[============            ] step 5/10");
  CHECK(progress_line(wide, 0.0, "x") == "[                        ] x");
  CHECK(progress_line(wide, 1.0, "x") == "[========================] x");
  const std::string numbers(60, 'n');
  CHECK(progress_line(wide, 0.5, numbers).size() == 79);
  CHECK(progress_line({true, false, 40}, 0.5, numbers) == std::string(39, 'n'));
}

TEST_CASE("a bar has colour where that is wanted", "[progress][np1]") {
  CHECK(progress_line({true, true, 80}, 0.5, "x").find("\033[") != std::string::npos);
  CHECK(progress_line({true, false, 80}, 0.5, "x").find('\033') == std::string::npos);
  ::setenv("NO_COLOR", "1", 1);
  CHECK_FALSE(standard_error_screen().colour);
  ::unsetenv("NO_COLOR");
}

TEST_CASE("lines of a log grow rare", "[progress][np1]") {
  CHECK(plain_period(1.0) == 3.0);
  CHECK(plain_period(600.0) == 30.0);
  CHECK(plain_period(1e6) == 60.0);
}

TEST_CASE("a search says what it does, how many plans it saw and the best one", "[progress][np1]") {
  CHECK(search_line({}, 2.0) == "planning for 0:02");
  CHECK(search_line({"asking alpa", 1234, 0.21}, 72.4) ==
        "planning for 1:12, asking alpa, 1.23k candidates, best 210 ms");
}

TEST_CASE("a search that takes long shows how far it is, but when quiet", "[progress][np1]") {
  SearchProgress progress;
  progress.asks("asking nobody");
  const std::string path = "search-display.txt";
  const auto shown_while = [&](Verbosity level, const std::function<void()>& work) {
    set_verbosity(level);
    std::fflush(stderr);
    const int before = ::dup(STDERR_FILENO);
    const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ::dup2(file, STDERR_FILENO);
    {
      const SearchDisplay display(progress, {true, false, 80}, std::chrono::milliseconds(0));
      work();
    }
    ::dup2(before, STDERR_FILENO);
    ::close(file);
    ::close(before);
    set_verbosity(Verbosity::normal);
  };
  const auto text = [&] {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  shown_while(Verbosity::normal, [&] {
    while (text().find("asking nobody") == std::string::npos) std::this_thread::yield();
    progress.found(0.5);
    while (text().find("best 500 ms") == std::string::npos) std::this_thread::yield();
  });
  CHECK(text().ends_with("\r\033[K"));
  shown_while(Verbosity::quiet, [] {});
  CHECK(text().empty());
  std::remove(path.c_str());
}

RunSummary a_summary() {
  RunSummary summary;
  summary.steps = 20;
  summary.losses = RunSummary::Losses{5.5, 2.5, {}};
  summary.iteration_seconds = 0.52;
  summary.iterations = 19;
  summary.predicted_iteration_seconds = 0.5;
  summary.times = SpentTimes{7.0, 1.0, 2.0};
  summary.amount_per_second = 2000.0;
  summary.unit = "tokens";
  summary.flop_per_second = 3e12;
  summary.peak_flop_per_second = 10e12;
  summary.peak_bytes = 1 << 20;
  summary.predicted_peak_bytes = 1 << 19;
  summary.run_directory = "outputs/x";
  return summary;
}

TEST_CASE("the summary puts predicted beside measured", "[progress][np1]") {
  RunSummary summary = a_summary();
  CHECK(describe_summary(summary) ==
        "Summary\n"
        "  steps        20, loss 5.5000 to 2.5000\n"
        "  iteration    520 ms measured (median), 500 ms predicted: 4 % more\n"
        "  time         70 % computing, 10 % communicating, 20 % idle, of all ranks\n"
        "  speed        2k tokens/s\n"
        "  FLOP         3 TFLOP/s of the model, 30 % of the peak of 10 TFLOP/s\n"
        "  memory       1 MiB measured on the fullest device, 512 KiB predicted\n"
        "  results      outputs/x\n"
        "  as a page    pptrain report outputs/x\n");
  summary.times->ranks_left_out = 3;
  CHECK(describe_summary(summary).find("20 % idle, of ranks in use\n") != std::string::npos);
  summary.run_directory = "outputs/my run";
  CHECK(describe_summary(summary).find("pptrain report 'outputs/my run'\n") != std::string::npos);
  summary.losses.reset();
  summary.iteration_seconds = 1.2;
  const std::string rehearsed = describe_summary(summary);
  CHECK(rehearsed.find("20, timing only, no loss") != std::string::npos);
  CHECK(rehearsed.find("2.4 times as much") != std::string::npos);
}

TEST_CASE("the summary of one step says so, and of no step says nothing of times",
          "[progress][np1]") {
  RunSummary summary = a_summary();
  summary.steps = 1;
  summary.iterations = 1;
  summary.times->of_first_step = true;
  const std::string one = describe_summary(summary);
  CHECK(one.find("steps        1, loss 5.5000\n") != std::string::npos);
  CHECK(one.find("520 ms measured (one step)") != std::string::npos);
  CHECK(one.find("20 % idle, in the first step\n") != std::string::npos);
  RunSummary none;
  none.peak_bytes = 1024.0;
  none.run_directory = "r";
  CHECK(describe_summary(none) ==
        "Summary\n"
        "  steps        0, timing only, no loss\n"
        "  memory       1 KiB measured on the fullest device\n"
        "  results      r\n"
        "  as a page    pptrain report r\n");
}

TEST_CASE("a utilisation is that of a known peak, never more than all of it", "[progress][np1]") {
  RunSummary summary = a_summary();
  summary.flop_per_second = 11.9e12;
  CHECK(describe_summary(summary).find(
            "11.9 TFLOP/s of the model, more than the peak of 10 TFLOP/s\n") != std::string::npos);
  summary.peak_flop_per_second = 0.0;
  CHECK(describe_summary(summary).find(
            "11.9 TFLOP/s of the model; no peak of the devices is known\n") != std::string::npos);
  CHECK(utilisation(5.0, 10.0) == 0.5);
  CHECK(utilisation(10.0, 10.0) == 1.0);
  CHECK_FALSE(utilisation(0.0, 10.0));
  CHECK_FALSE(utilisation(5.0, 0.0));
  CHECK_FALSE(utilisation(11.0, 10.0));
}

}  // namespace
}  // namespace pptrain
