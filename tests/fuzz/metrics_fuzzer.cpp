#include <algorithm>
#include <cstring>

#include "fuzz.hpp"
#include "io/run/metrics.hpp"
#include "strange_hdf5.hpp"

using namespace pptrain;

namespace {

std::vector<std::string> objects() {
  std::vector<std::string> names = {"/plan",    "/environment", "/steps", "/ranks",
                                    "/experts", "/evaluation",  "/drift"};
  for (const MetricsSeries& series : metrics_series())
    names.push_back("/" + series.group + "/" + series.info.name);
  return names;
}

void append_rows(MetricsFile& file) {
  const std::vector<RankMetrics> ranks = {{1, 2, 3, 4}, {5, 6, 7, 8}};
  const std::vector<std::int64_t> rows = {3, 5, 4, 4};
  for (std::int64_t step = 1; step <= 5; ++step)
    file.append_step({step, 5.5, 1, 1, 1, 1, 1, 1, 4096}, ranks, rows);
  file.append_evaluation(5, 0.5);
  file.append_drift(5, 1, 1.5);
}

/// One that was closed, and one as its writer has it still.
std::vector<std::string> sound_metrics(const std::string& path) {
  std::vector<std::string> both;
  {
    MetricsFile file(path, 2, "{}", {{"hosts", "n0 n1"}}, nullptr, {{"a", "b"}, 2});
    append_rows(file);
    both.push_back(bytes_of(path));
  }
  both.push_back(bytes_of(path));
  return both;
}

template <class T>
bool is_outside(T value) {
  unsigned char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  return std::all_of(std::begin(bytes), std::end(bytes),
                     [](unsigned char byte) { return byte == outside_byte; });
}

/// All rows of all series are there, and none from another file.
void check(const MetricsHistory& history) {
  const std::size_t rows = history.integers.at("steps/step").size();
  for (const MetricsSeries& series : metrics_series()) {
    const std::string name = series.group + "/" + series.info.name;
    using Columns = MetricsSeries::Columns;
    if (series.columns == Columns::experts && history.experts.size() == 0) continue;
    const auto columns =
        static_cast<std::size_t>(series.columns == Columns::ranks     ? history.num_ranks
                                 : series.columns == Columns::experts ? history.experts.size()
                                                                      : 1);
    std::size_t size = 0;
    if (series.type == Series::Type::integer) {
      size = history.integers.at(name).size();
      for (const std::int64_t value : history.integers.at(name))
        PPTRAIN_ASSERT(!is_outside(value), "{}", name);
    } else {
      size = history.reals.at(name).size();
      for (const double value : history.reals.at(name))
        PPTRAIN_ASSERT(!is_outside(value), "{}", name);
    }
    if (series.group == "steps" || series.columns != Columns::none) {
      PPTRAIN_ASSERT(size == rows * columns, "{} of {} x {} in {}", size, rows, columns, name);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FuzzFolder folder;
  static const std::string path = folder.path("metrics.h5");
  static const std::vector<std::string> sound = sound_metrics(path);
  static const StrangeHdf5 strange(folder, objects(), {"hosts", "units"});
  FuzzedDataProvider input(data, size);
  write_bytes(path, sound[input.ConsumeBool() ? 1 : 0]);
  strange.change(path, input, true);
  try {
    check(read_metrics(path).history);
    check(read_metrics_history(path, input.ConsumeIntegral<std::int64_t>()));
  } catch (const Hdf5Failure&) {
  }
  return 0;
}
