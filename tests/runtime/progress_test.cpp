#include "runtime/progress.hpp"

#include <cstdlib>

#include "runtime/execute/summary.hpp"
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

TEST_CASE("the summary puts predicted beside measured", "[progress][np1]") {
  RunSummary summary;
  summary.steps = 20;
  summary.losses = RunSummary::Losses{5.5, 2.5, {}};
  summary.iteration_seconds = 0.52;
  summary.predicted_iteration_seconds = 0.5;
  summary.compute_share = 0.7;
  summary.communication_share = 0.1;
  summary.idle_share = 0.2;
  summary.amount_per_second = 2000.0;
  summary.unit = "tokens";
  summary.flop_per_second = 3e12;
  summary.peak_flop_per_second = 10e12;
  summary.peak_bytes = 1 << 20;
  summary.predicted_peak_bytes = 1 << 19;
  summary.run_directory = "outputs/x";
  CHECK(describe_summary(summary) ==
        "Summary\n"
        "  steps        20, loss 5.5000 to 2.5000\n"
        "  iteration    0.52 s measured (median), 0.5 s predicted: 4 % more than predicted\n"
        "  time         70 % computing, 10 % communicating, 20 % idle, of all ranks\n"
        "  speed        2k tokens/s, 3T FLOP/s of the model (30 % of the devices' peak)\n"
        "  memory       1 MiB measured on the fullest device, 512 KiB predicted\n"
        "  results      outputs/x (as a page: pptrain report outputs/x)\n");
  summary.run_directory = "outputs/my run";
  CHECK(describe_summary(summary).find("pptrain report 'outputs/my run')") != std::string::npos);
  summary.losses.reset();
  summary.iteration_seconds = 1.2;
  const std::string rehearsed = describe_summary(summary);
  CHECK(rehearsed.find("20, rehearsed: no numbers") != std::string::npos);
  CHECK(rehearsed.find("2.4 times as much as predicted") != std::string::npos);
}

}  // namespace
}  // namespace pptrain
