#include "io/checkpoint/checkpoint_folder.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <tuple>

#include "base/error.hpp"
#include "base/log.hpp"
#include "io/checkpoint/data_file.hpp"
#include "io/run/run_directory.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

const std::string folder_name = "checkpoints";
const std::string prefix = "step-";
const std::string suffix = ".h5";
const std::string partial_suffix = ".h5.partial";

/// The checkpoints of a run.
struct Found {
  fs::file_time_type newest = fs::file_time_type::min();  ///< when the last one was written
  std::string run;
  std::vector<std::pair<std::int64_t, std::string>> files;  ///< step and path, most steps first
};

/// Entries of a folder; none where there is no such folder. One that cannot be read throws `Error`
/// (exit code 2).
std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    entries.push_back(*entry);
  }
  if (error && error != std::errc::no_such_file_or_directory &&
      error != std::errc::not_a_directory) {
    throw_bad_input({folder, "the folder cannot be read", error.message(),
                     "checkpoints may be in it; look at the disk and the folder's permissions"});
  }
  return entries;
}

Found checkpoints_in(const std::string& run) {
  Found found;
  found.run = run;
  for (const fs::directory_entry& entry : entries_of(fs::path(run) / folder_name)) {
    const std::optional<std::int64_t> step = step_of_checkpoint(entry.path());
    if (!step) continue;
    found.files.emplace_back(*step, entry.path());
    std::error_code gone;
    const fs::file_time_type time = entry.last_write_time(gone);
    if (!gone) found.newest = std::max(found.newest, time);
  }
  std::sort(found.files.rbegin(), found.files.rend());
  return found;
}

[[noreturn]] void fail(const std::string& path, const std::string& problem,
                       const std::error_code& error) {
  throw_runtime_failure(
      {path, problem, error.message(), "look at the disk and the folder's permissions"});
}

}  // namespace

std::optional<std::int64_t> step_of_checkpoint(const std::string& path) {
  const std::string name = fs::path(path).filename();
  if (!name.starts_with(prefix) || !name.ends_with(suffix) ||
      name.size() <= prefix.size() + suffix.size())
    return {};
  std::int64_t step = 0;
  const char* end = name.data() + name.size() - suffix.size();
  const auto read = std::from_chars(name.data() + prefix.size(), end, step);
  if (read.ec != std::errc() || read.ptr != end || step < 0) return {};
  return step;
}

CheckpointFolder::CheckpointFolder(const std::string& run)
    : run_(run), path_(run + "/" + folder_name) {}

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
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
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
  std::vector<std::string> there;
  try {
    there = files();
  } catch (const Error& error) {
    log_warning("{}; old checkpoints stay", error.what());
  }
  for (auto i = static_cast<std::size_t>(keep); i < there.size(); ++i) {
    std::error_code error;
    fs::remove(there[i], error);
    if (error)
      log_warning("{}: the old checkpoint cannot be removed ({})", there[i], error.message());
  }
}

std::vector<std::string> CheckpointFolder::files() const {
  std::vector<std::string> paths;
  for (const auto& [step, path] : checkpoints_in(run_).files) paths.push_back(path);
  return paths;
}

std::vector<std::string> checkpoints_of_run(const std::string& run) {
  std::vector<std::string> files = CheckpointFolder(run).files();
  if (!files.empty()) return files;
  const std::string latest = (fs::path(run) / latest_run).string();
  const bool is_job = fs::is_directory(latest);
  throw_bad_input(
      {run, "the folder has no checkpoint",
       is_job ? "it has the runs of a job" : "a run directory keeps them in checkpoints/step-N.h5",
       is_job ? fmt::format("write {}, the latest of them", latest)
              : "name a run that has ended, or that saves by [checkpoint] interval"});
}

void set_aside(const std::vector<std::string>& damaged) {
  for (const std::string& path : damaged) {
    std::error_code error;
    fs::rename(path, path + ".damaged", error);
    if (error) fail(path, "what is damaged cannot be given another name", error);
    log_warning("{} is now {}.damaged", path, fs::path(path).filename().string());
  }
}

std::vector<std::string> runs_with_checkpoints(const std::string& output,
                                               const std::string& job_name) {
  std::vector<Found> runs;
  for (const fs::directory_entry& run : entries_of(fs::path(output) / job_name)) {
    if (!run.is_symlink()) runs.push_back(checkpoints_in(run.path()));  // `latest` is one of them
  }
  std::erase_if(runs, [](const Found& run) { return run.files.empty(); });
  std::sort(runs.begin(), runs.end(), [](const Found& a, const Found& b) {
    return std::tie(a.newest, a.run) > std::tie(b.newest, b.run);
  });
  std::vector<std::string> paths;
  for (const Found& run : runs) paths.push_back(run.run);
  return paths;
}

}  // namespace pptrain
