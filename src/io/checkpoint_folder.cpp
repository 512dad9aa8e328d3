#include "io/checkpoint_folder.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <tuple>

#include "base/error.hpp"
#include "base/log.hpp"
#include "io/data_file.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

const std::string prefix = "step-";
const std::string suffix = ".h5";
const std::string partial_suffix = ".h5.partial";

struct Found {
  fs::file_time_type time;
  std::int64_t step = 0;
  std::string path;
};

/// The checkpoints of a folder, which may be missing.
void add_checkpoints(const fs::path& folder, std::vector<Found>& found) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::optional<std::int64_t> step = step_of_checkpoint(entry->path());
    std::error_code gone;
    const fs::file_time_type time = entry->last_write_time(gone);
    if (step && !gone) found.push_back({time, *step, entry->path()});
  }
}

std::vector<std::string> newest_first(std::vector<Found> found) {
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.time, a.step, a.path) > std::tie(b.time, b.step, b.path);
  });
  std::vector<std::string> paths;
  for (Found& one : found) paths.push_back(std::move(one.path));
  return paths;
}

[[noreturn]] void fail(const std::string& path, const std::string& problem, const std::error_code& error) {
  throw_runtime_failure({path, problem, error.message(), "look at the disk and the folder's permissions"});
}

}  // namespace

std::optional<std::int64_t> step_of_checkpoint(const std::string& path) {
  const std::string name = fs::path(path).filename();
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size()) return {};
  std::int64_t step = 0;
  const char* end = name.data() + name.size() - suffix.size();
  const auto read = std::from_chars(name.data() + prefix.size(), end, step);
  if (read.ec != std::errc() || read.ptr != end || step < 0) return {};
  return step;
}

CheckpointFolder::CheckpointFolder(const std::string& run) : path_(run + "/checkpoints") {}

std::string CheckpointFolder::file(std::int64_t step) const {
  return fmt::format("{}/{}{}{}", path_, prefix, step, suffix);
}

std::string CheckpointFolder::partial_file(std::int64_t step) const {
  return fmt::format("{}/{}{}{}", path_, prefix, step, partial_suffix);
}

void CheckpointFolder::prepare() const {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) fail(path_, "the folder cannot be made", error);
  std::vector<fs::path> torn;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().string().ends_with(partial_suffix)) torn.push_back(entry->path());
  }
  for (const fs::path& path : torn) fs::remove(path, error);
  if (error) fail(path_, "what is half written cannot be removed", error);
}

void CheckpointFolder::publish(std::int64_t step) const {
  std::error_code error;
  fs::rename(partial_file(step), file(step), error);
  if (error) fail(file(step), "the checkpoint cannot be given its name", error);
  sync_path(path_);
}

void CheckpointFolder::remove_old(std::int64_t keep) const {
  const std::vector<std::string> there = files();
  for (auto i = static_cast<std::size_t>(keep); i < there.size(); ++i) {
    std::error_code error;
    fs::remove(there[i], error);
    if (error) log_warning("{}: the old checkpoint cannot be removed ({})", there[i], error.message());
  }
}

std::vector<std::string> CheckpointFolder::files() const {
  std::vector<Found> found;
  add_checkpoints(path_, found);
  return newest_first(std::move(found));
}

std::vector<std::string> checkpoints_of_job(const std::string& output, const std::string& job_name) {
  std::vector<Found> found;
  std::error_code error;
  for (fs::directory_iterator run(fs::path(output) / job_name, error), end; !error && run != end;
       run.increment(error)) {
    add_checkpoints(run->path() / "checkpoints", found);
  }
  return newest_first(std::move(found));
}

}  // namespace pptrain
