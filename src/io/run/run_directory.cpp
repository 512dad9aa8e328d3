#include "io/run/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/files.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

constexpr int max_same_second = 1000;

[[noreturn]] void refuse(const std::string& where, const std::string& output,
                         const std::string& reason, int error = 0) {
  throw_unwritable({where, fmt::format("the output directory {} cannot be written", output), reason,
                    "set [job] output to a folder you can write to"},
                   error);
}

std::string start_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  ::localtime_r(&now, &local);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%d_%H-%M-%S", &local);
  return text;
}

}  // namespace

void check_output_directory(const std::string& output, const std::string& where) {
  std::error_code error;
  fs::path nearest = fs::absolute(output, error);
  while (!fs::exists(nearest, error) && nearest.has_relative_path())
    nearest = nearest.parent_path();
  if (!fs::is_directory(nearest, error))
    refuse(where, output, nearest.string() + " is not a folder");
  if (::access(nearest.c_str(), W_OK | X_OK) != 0) {
    refuse(where, output, fmt::format("{}: {}", nearest.string(), std::strerror(errno)));
  }
}

RunDirectory::RunDirectory(const std::string& output, const std::string& job_name,
                           const std::string& where) {
  const fs::path job = fs::path(output) / job_name;
  std::error_code error;
  fs::create_directories(job, error);
  if (error) refuse(where, output, error.message(), error.value());
  const std::string base = (job / start_time()).string();
  // mkdir is atomic: of two jobs that start in the same second one finds the folder taken.
  for (int n = 0; n < max_same_second; ++n) {
    path_ = n == 0 ? base : fmt::format("{}-{}", base, n);
    if (::mkdir(path_.c_str(), 0777) == 0) {
      lock();
      return;
    }
    if (errno != EEXIST) refuse(where, output, std::strerror(errno), errno);
  }
  refuse(where, output, fmt::format("{} and {} more like it exist", base, max_same_second - 1));
}

RunDirectory::~RunDirectory() {
  if (log_ >= 0) ::close(log_);
}

/// Whether no other job has it. One whose file system has no locks is taken for free.
bool RunDirectory::lock() {
  log_ = ::open(file("log.txt").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  return log_ < 0 || ::flock(log_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void RunDirectory::name_latest() const {
  const fs::path run(path_);
  const fs::path link = run.parent_path() / latest_run;
  std::error_code error;
  const fs::file_status there = fs::symlink_status(link, error);
  if (fs::exists(there) && !fs::is_symlink(there)) return;  // somebody's own
  const fs::path made =
      run.parent_path() / fmt::format(".{}-{}", latest_run, run.filename().string());
  fs::create_symlink(run.filename(), made, error);
  if (error) return;  // a file system without links
  fs::rename(made, link, error);
  if (error) fs::remove(made, error);
}

void RunDirectory::check_writable() const {
  for (const std::string& folder : {path_, path_ + "/checkpoints"}) {
    if (!fs::exists(fs::symlink_status(folder)) || ::access(folder.c_str(), W_OK | X_OK) == 0)
      continue;
    throw_bad_input({folder, "the run directory cannot be written", std::strerror(errno),
                     "resume where it can, or copy the checkpoint elsewhere and name that"});
  }
}

std::optional<RunDirectory> RunDirectory::existing(const std::string& path) {
  RunDirectory directory(path);
  if (!directory.lock()) return std::nullopt;
  return directory;
}

void RunDirectory::write(const std::string& name, const std::string& content) const {
  write_file(file(name), content, "look at the disk and the folder's permissions");
}

}  // namespace pptrain
