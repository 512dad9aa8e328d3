#include <unistd.h>

#include "fuzz.hpp"
#include "io/run/metrics.hpp"
#include "report/document.hpp"
#include "report/run_folder.hpp"
#include "report/tensorboard.hpp"
#include "strange_hdf5.hpp"

using namespace pptrain;

namespace {

namespace fs = std::filesystem;

const std::vector<std::string> texts = {"plan.json",   "cluster.toml",   "profile.json",
                                        "config.toml", "placement.json", "trace.json"};

/// The files of a small run as it left them (tests/fuzz/run), and its metrics.
std::vector<std::pair<std::string, std::string>> sound_run(const std::string& run) {
  fs::create_directories(run);
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& name : texts)
    files.emplace_back(name, bytes_of(PPTRAIN_FUZZ_RUN "/" + name));
  const std::string path = run + "/metrics.h5";
  {
    MetricsFile file(path, 2, "{}", {{"hosts", "n0"}, {"resumed_from", "step-1.h5"}});
    const std::vector<RankMetrics> ranks = {{1, 2, 3, 4}, {5, 6, 7, 8}};
    for (std::int64_t step = 2; step <= 4; ++step)
      file.append_step({step, 5.5, 1, 1, 1, 1, 1, 1, 4096}, ranks);
    file.append_evaluation(3, 0.5);
    file.append_drift(3, 1, 1.5);
  }
  files.emplace_back("metrics.h5", bytes_of(path));
  return files;
}

std::string changed(std::string text, FuzzedDataProvider& input) {
  for (int i = input.ConsumeIntegralInRange(0, 3); i > 0; --i) {
    const auto at = input.ConsumeIntegralInRange<std::size_t>(0, text.size());
    const auto gone = input.ConsumeIntegralInRange<std::size_t>(0, 12);
    text.replace(at, gone, input.ConsumeRandomLengthString(24));
  }
  return text;
}

/// A name that a later plan might have.
std::string plan_name(FuzzedDataProvider& input) {
  return "plan-after-" + std::to_string(input.ConsumeIntegral<std::uint64_t>()) +
         std::string(input.ConsumeIntegralInRange<std::size_t>(0, 3), '9') + ".json";
}

/// Takes the file away, or puts a folder or a link in its place.
void displace(const std::string& path, FuzzedDataProvider& input) {
  fs::remove(path);
  switch (input.ConsumeIntegralInRange(0, 3)) {
    case 0: fs::create_directory(path); break;
    case 1: fs::create_symlink("plan.json", path); break;
    case 2: fs::create_symlink(path, path); break;
    default: break;
  }
}

void read(const std::string& run) {
  try {
    const RunFolder folder = read_run_folder(run);
    const std::string page =
        report_document(folder).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    PPTRAIN_ASSERT(!page.empty() && !tensorboard_events(folder).empty(), "nothing is reported");
  } catch (const Error& error) {
    PPTRAIN_ASSERT(error.code() == ExitCode::bad_input, "{}", error.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FuzzFolder folder;
  static const std::string run = folder.path("run");
  static const auto sound = sound_run(run);
  static const StrangeHdf5 strange(
      folder, {"/steps/step", "/steps/loss", "/ranks/peak_bytes", "/environment", "/drift"},
      {"hosts", "resumed_from"});
  FuzzedDataProvider input(data, size);
  fs::remove_all(run);
  fs::create_directory(run);
  for (const auto& [name, bytes] : sound) write_bytes(run + "/" + name, bytes);
  const std::string& name =
      sound[input.ConsumeIntegralInRange<std::size_t>(0, sound.size() - 1)].first;
  const std::string path = run + "/" + name;
  if (input.ConsumeIntegralInRange(0, 3) == 1)
    write_bytes(run + "/" + plan_name(input), changed(sound[0].second, input));
  if (input.ConsumeIntegralInRange(0, 15) == 1) {
    displace(path, input);
  } else if (name == "metrics.h5") {
    strange.change(path, input, true);
  } else {
    write_bytes(path, changed(bytes_of(path), input));
  }
  read(run);
  return 0;
}
