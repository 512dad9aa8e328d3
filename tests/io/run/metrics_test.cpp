#include "io/run/metrics.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

StepMetrics row(std::int64_t step) {
  const auto x = static_cast<double>(step);
  return {step, 5.5 - x / 10, 1.0 + x, 1e-3 * x, 1.0, 0.25, 1000 * x, 0.5, 4096 * step, 2.0 + x};
}

std::vector<RankMetrics> ranks(std::int64_t step, std::size_t num_ranks) {
  std::vector<RankMetrics> result(num_ranks);
  for (std::size_t rank = 0; rank < num_ranks; ++rank) {
    const double x = static_cast<double>(step) + static_cast<double>(rank) / 100;
    result[rank] = {x, 2 * x, 3 * x, static_cast<std::int64_t>(rank) + step};
  }
  return result;
}

void append_rows(MetricsFile& file, std::int64_t first, std::int64_t last, std::size_t num_ranks) {
  for (std::int64_t step = first; step <= last; ++step) {
    CHECK(file.append_step(row(step), ranks(step, num_ranks)));
    if (step % 10 == 0) CHECK(file.append_evaluation(step, 0.5 * static_cast<double>(step)));
    if (step % 10 == 0) CHECK(file.append_drift(step, 1, 1.5));
  }
}

/// One dataset as the library itself reads it; opened for reading beside a writer.
std::vector<double> read_series(const std::string& path, const std::string& name) {
  const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT),
                        H5Fclose, "open");
  const Hdf5Handle dataset(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), H5Dclose,
                           "open " + name);
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose, "space");
  std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())));
  check_hdf5(
      H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
      "read " + name);
  return values;
}

/// What any reader must find after `steps` appended rows of two ranks.
void check_content(const std::string& path, std::int64_t steps) {
  const auto size = static_cast<std::size_t>(steps);
  const std::vector<double> numbers = read_series(path, "steps/step");
  const std::vector<double> losses = read_series(path, "steps/loss");
  const std::vector<double> peaks = read_series(path, "steps/peak_bytes");
  const std::vector<double> idle = read_series(path, "ranks/idle_seconds");
  REQUIRE(numbers.size() == size);
  REQUIRE(losses.size() == size);
  REQUIRE(peaks.size() == size);
  REQUIRE(idle.size() == 2 * size);
  for (std::size_t i = 0; i < size; ++i) {
    const StepMetrics wanted = row(static_cast<std::int64_t>(i) + 1);
    CHECK(numbers[i] == static_cast<double>(wanted.step));
    CHECK(losses[i] == wanted.loss);
    CHECK(peaks[i] == static_cast<double>(wanted.peak_bytes));
    CHECK(idle[2 * i + 1] == ranks(wanted.step, 2)[1].idle_seconds);
  }
  CHECK(read_series(path, "evaluation/loss").size() == size / 10);
  CHECK(read_series(path, "drift/factor") == std::vector<double>(size / 10, 1.5));
}

/// Debian's python3 with h5py, in an environment of its own; false with a warning where there is
/// none.
bool has_h5py() {
  if (std::system("/usr/bin/python3 -c 'import h5py' >/dev/null 2>&1") == 0) return true;
  WARN("skipped: /usr/bin/python3 has no h5py");
  return false;
}

int run_python(const std::string& path, const std::string& script) {
  return std::system(("/usr/bin/python3 -c '" + script + "' '" + path + "'").c_str());
}

constexpr const char* python_check = R"(
import sys, h5py
f = h5py.File(sys.argv[1], "r", swmr=True)
s = f["steps"]
names = "step loss grad_norm learning_rate loss_scale iteration_seconds tokens_per_second model_flops_utilization peak_bytes experts_balance"
assert sorted(s) == sorted(names.split()), list(s)
assert sorted(f["ranks"]) == ["communication_seconds", "compute_seconds", "idle_seconds", "peak_bytes"]
assert sorted(f["evaluation"]) == ["loss", "step"]
assert sorted(f["drift"]) == ["factor", "rank", "step"]
assert list(s["step"][:]) == list(range(1, 31))
assert s["loss"][4] == 5.0 and s["loss"].maxshape == (None,) and s["loss"].chunks is not None
assert f["ranks/compute_seconds"].shape == (30, 2) and f["ranks/compute_seconds"][29, 1] == 30.01
assert s["iteration_seconds"].attrs["units"].decode() == "s"
assert s["loss"].attrs["description"].decode().startswith("mean cross-entropy")
assert f["plan"][()].decode() == "{\"a\": 1}"
assert f["environment"].attrs["hosts"].decode() == "n0 n1" and f["environment"].attrs["empty"].decode() == ""
)";

const std::map<std::string, std::string> environment = {{"hosts", "n0 n1"}, {"empty", ""}};

TEST_CASE("metrics read back after the run", "[metrics]") {
  const TestFolder folder("metrics_closed");
  const std::string path = folder.path("metrics.h5");
  {
    MetricsFile file(path, 2, "{\"a\": 1}", environment);
    append_rows(file, 1, 30, 2);
  }
  check_content(path, 30);
  if (has_h5py()) CHECK(run_python(path, python_check) == 0);
}

TEST_CASE("a file of before there was a series goes on with it", "[metrics]") {
  const TestFolder folder("metrics_older");
  const std::string path = folder.path("metrics.h5");
  {
    MetricsFile file(path, 2, "{}", environment);
    append_rows(file, 1, 20, 2);
  }
  {
    const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose, "open");
    check_hdf5(H5Ldelete(file.get(), "steps/experts_balance", H5P_DEFAULT), "removing the series");
  }
  const MetricsHistory history = read_metrics_history(path, 15);
  const std::vector<double>& rows = history.reals.at("steps/experts_balance");
  CHECK(rows.size() == 15);
  CHECK(std::all_of(rows.begin(), rows.end(), [](double value) { return std::isnan(value); }));
  {
    MetricsFile file(path, 2, "{}", environment, &history);
    append_rows(file, 16, 20, 2);
  }
  CHECK(read_series(path, "steps/experts_balance").size() == 20);
  CHECK(read_series(path, "steps/experts_balance").back() == row(20).experts_balance);
}

TEST_CASE(
    "rows of experts go on where the file of before had them, and are missing where it had not",
    "[metrics]") {
  const TestFolder folder("metrics_experts");
  const std::string path = folder.path("metrics.h5"), without = folder.path("without.h5");
  const ExpertColumns experts = {{"block.0.experts", "block.1.experts"}, 3};
  const std::vector<RankMetrics> ranks = {{1, 2, 3, 4}};
  {
    MetricsFile file(path, 1, "{}", environment, nullptr, experts);
    for (std::int64_t s = 1; s <= 4; ++s) {
      file.append_step(row(s), ranks, std::vector<std::int64_t>{s, 2, 3, 4, 5, 10 * s});
    }
    MetricsFile(without, 1, "{}", environment).append_step(row(1), ranks);
  }
  const MetricsHistory history = read_metrics_history(path, 3);
  CHECK(history.experts == experts);
  CHECK(history.integers.at("experts/rows").size() == 3 * 6);
  CHECK(read_metrics_history(without, 1).experts.size() == 0);
  const MetricsHistory none = read_metrics_history(without, 1);
  for (const MetricsHistory* before : {&history, &none}) {
    MetricsFile(path, 1, "{}", environment, before, experts)
        .append_step(row(4), ranks, std::vector<std::int64_t>{9, 8, 7, 6, 5, 4});
    const MetricsContent content = read_metrics(path);
    const std::vector<std::int64_t>& rows = content.history.integers.at("experts/rows");
    const bool known = before == &history;
    REQUIRE(rows.size() == (known ? 4 : 2) * 6);
    CHECK(rows[5] == (known ? 10 : missing_integer));
    CHECK(rows.back() == 4);
  }
}

TEST_CASE("another process reads the metrics while they are written", "[metrics]") {
  if (!has_h5py()) return;
  const TestFolder folder("metrics_open");
  const std::string path = folder.path("metrics.h5");
  MetricsFile file(path, 2, "{\"a\": 1}", environment);
  append_rows(file, 1, 30, 2);
  CHECK(run_python(path, python_check) == 0);
  append_rows(file, 31, 700, 2);
  CHECK(run_python(
            path,
            "import sys, h5py; f = h5py.File(sys.argv[1], \"r\", swmr=True); "
            "assert len(f[\"steps/step\"]) == 700 and f[\"ranks/peak_bytes\"][699, 1] == 701") ==
        0);
}

TEST_CASE("metrics are readable after the writer was killed", "[metrics]") {
  const TestFolder folder("metrics_killed");
  const std::string path = folder.path("metrics.h5");
  const int status = in_child([&] {
    MetricsFile file(path, 2, "{\"a\": 1}", environment);
    for (std::int64_t step = 1; step <= 30; ++step) {
      file.append_step(row(step), ranks(step, 2));
      if (step % 10 == 0) file.append_evaluation(step, 1.0);
      if (step % 10 == 0) file.append_drift(step, 1, 1.5);
    }
    ::kill(::getpid(), SIGKILL);
  });
  REQUIRE(WIFSIGNALED(status));
  check_content(path, 30);
  if (has_h5py()) CHECK(run_python(path, python_check) == 0);
}

TEST_CASE("a run that goes on after a kill, on other ranks, continues its series", "[metrics]") {
  for (const std::size_t num_ranks : {1U, 3U}) {
    const TestFolder folder("metrics_history");
    const std::string path = folder.path("metrics.h5");
    const int status = in_child([&] {
      MetricsFile file(path, 2, "{}", environment);
      append_rows(file, 1, 30, 2);
      ::kill(::getpid(), SIGKILL);
    });
    REQUIRE(WIFSIGNALED(status));
    const MetricsHistory history = read_metrics_history(path, 20);
    {
      MetricsFile file(path, static_cast<std::int64_t>(num_ranks), "{}", environment, &history);
      append_rows(file, 21, 25, num_ranks);
    }
    const std::size_t columns = std::max<std::size_t>(num_ranks, 2);
    const std::vector<double> losses = read_series(path, "steps/loss");
    const std::vector<double> compute = read_series(path, "ranks/compute_seconds");
    REQUIRE(losses.size() == 25);
    REQUIRE(compute.size() == 25 * columns);
    for (std::int64_t step = 1; step <= 25; ++step) {
      const auto index = static_cast<std::size_t>(step - 1);
      const std::size_t present = step <= 20 ? 2 : num_ranks;
      CHECK(losses[index] == row(step).loss);
      for (std::size_t rank = 0; rank < columns; ++rank) {
        const double value = compute[index * columns + rank];
        if (rank >= present) CHECK(std::isnan(value));
        if (rank < present) CHECK(value == ranks(step, present)[rank].compute_seconds);
      }
    }
    CHECK(read_series(path, "evaluation/step") == std::vector<double>{10, 20});
    CHECK(read_series(path, "drift/rank") == std::vector<double>{1, 1});
  }
}

TEST_CASE("metrics are readable after a kill at any moment", "[metrics]") {
  const TestFolder folder("metrics_moments");
  for (int moment = 0; moment < 12; ++moment) {
    const std::string path = folder.path("metrics" + std::to_string(moment) + ".h5");
    int ready[2] = {};
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      MetricsFile file(path, 2, "{}", environment);
      if (::write(ready[1], "x", 1) != 1) ::_exit(1);
      for (std::int64_t step = 1;; ++step) file.append_step(row(step), ranks(step, 2));
    }
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    ::usleep(static_cast<useconds_t>(500 + 3700 * moment));  // any moment is right; this makes them
                                                             // differ
    ::kill(child, SIGKILL);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    ::close(ready[0]);
    ::close(ready[1]);
    const std::vector<double> numbers = read_series(path, "steps/step");
    const std::vector<double> losses = read_series(path, "steps/loss");
    const std::vector<double> compute = read_series(path, "ranks/compute_seconds");
    // The step number is written last. What is extended and not yet written reads as missing.
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] < 0) continue;
      REQUIRE(numbers[i] == static_cast<double>(i + 1));
      REQUIRE(losses.at(i) == row(static_cast<std::int64_t>(i) + 1).loss);
      REQUIRE(compute.at(2 * i) == static_cast<double>(i + 1));
    }
    // At most the last row is missing.
    if (numbers.size() > 1) CHECK(numbers[numbers.size() - 2] > 0);
  }
}

TEST_CASE("a full disk ends the metrics and not the training", "[metrics]") {
  const TestFolder folder("metrics_full");
  const std::string path = folder.path("metrics.h5");
  const int status = in_child([&] {
    MetricsFile file(path, 2, "{}", environment);
    if (!file.append_step(row(1), ranks(1, 2))) ::_exit(1);
    limit_files(std::filesystem::file_size(path));
    std::int64_t step = 2;
    while (step < 100000 && file.append_step(row(step), ranks(step, 2))) ++step;
    if (step == 100000 || file.writes()) ::_exit(3);
    if (file.append_step(row(step), ranks(step, 2)) || file.append_evaluation(step, 1.0))
      ::_exit(4);
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE(
    "a disk that is full at any moment, the creation and the end too, does no more than end the "
    "metrics",
    "[metrics]") {
  const TestFolder folder("metrics_any_limit");
  std::uintmax_t whole = 0;
  {
    MetricsFile file(folder.path("whole.h5"), 2, "{}", environment);
    append_rows(file, 1, 600, 2);
    whole = std::filesystem::file_size(folder.path("whole.h5"));
  }
  int not_created = 0, not_appended = 0;
  for (rlim_t limit = 0; limit < whole + 1024; limit += 1536) {
    INFO("a limit of " << limit << " bytes");
    const std::string path = folder.path("metrics" + std::to_string(limit) + ".h5");
    const int status = in_child([&] {
      hush();
      limit_files(limit);
      int code = 0;
      try {
        MetricsFile file(path, 2, "{}", environment);
        std::int64_t step = 1;
        while (step <= 600 && file.append_step(row(step), ranks(step, 2))) ++step;
        if (step <= 600) code = 3;
      } catch (const Error& error) {
        code = error.code() == ExitCode::runtime_failure && !std::filesystem::exists(path) ? 4 : 5;
      }
      H5close();  // as the end of the program does
      ::_exit(code);
    });
    REQUIRE(WIFEXITED(status));
    const int code = WEXITSTATUS(status);
    CHECK((code == 0 || code == 3 || code == 4));
    not_appended += code == 3 ? 1 : 0;
    not_created += code == 4 ? 1 : 0;
    if (code == 4) continue;
    // What was appended before is there.
    const std::vector<double> numbers = read_series(path, "steps/step");
    const std::vector<double> losses = read_series(path, "steps/loss");
    CHECK((code == 3 || numbers.size() == 600));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] > 0) REQUIRE(losses.at(i) == row(static_cast<std::int64_t>(i) + 1).loss);
    }
  }
  CHECK(not_created > 0);
  CHECK(not_appended > 0);
}

TEST_CASE("a metrics file that cannot be created is refused", "[metrics]") {
  const TestFolder folder("metrics_refused");
  const auto refused = [&](const std::string& path) {
    return complaint_of([&] { const MetricsFile file(path, 1, "", {}); });
  };
  CHECK(refused(folder.path("no/metrics.h5")).find("No such file or directory") !=
        std::string::npos);
  const std::string there = folder.write("metrics.h5", "something else");
  CHECK(refused(there).find("cannot be created") != std::string::npos);
}

TEST_CASE("many ranks and a long plan fit", "[metrics]") {
  const TestFolder folder("metrics_large");
  const std::string path = folder.path("metrics.h5");
  const std::string plan(300000, 'p');
  {
    MetricsFile file(path, 2000, plan, {{"hosts", std::string(100000, 'h')}});
    for (std::int64_t step = 1; step <= 3; ++step)
      CHECK(file.append_step(row(step), ranks(step, 2000)));
  }
  const std::vector<double> compute = read_series(path, "ranks/compute_seconds");
  REQUIRE(compute.size() == 6000);
  CHECK(compute[2 * 2000 + 1999] == ranks(3, 2000)[1999].compute_seconds);
}

}  // namespace
}  // namespace pptrain
