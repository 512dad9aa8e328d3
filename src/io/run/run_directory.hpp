#pragma once

#include <optional>
#include <string>
#include <utility>

namespace pptrain {

/// The name of a link in the folder of a job: its run that began, or went on, last.
inline constexpr const char* latest_run = "latest";

/// Refuses an output directory in which nothing can be created, without writing anything: `Error`
/// (exit code 2) with `where` as the place. For the check before a long profile.
void check_output_directory(const std::string& output, const std::string& where);

/// The folder of one run, OUTPUT/JOB/YYYY-MM-DD_HH-MM-SS, with -1, -2, ... behind it when there is
/// one. While this lives no other job gets it, where the file system has locks: log.txt is locked.
class RunDirectory {
 public:
  ~RunDirectory();
  RunDirectory(RunDirectory&& other) noexcept
      : path_(std::move(other.path_)), log_(std::exchange(other.log_, -1)) {}
  RunDirectory& operator=(RunDirectory&&) = delete;

  /// Creates the folder; two jobs that start in the same second get different ones.
  /// An output directory that cannot be written throws `Error` (exit code 2, and 4 where the disk
  /// is full) with `where` as the place.
  RunDirectory(const std::string& output, const std::string& job_name, const std::string& where);

  /// One that is there, of a run that goes on; nothing where another job runs in it. Nothing in it
  /// is looked at.
  static std::optional<RunDirectory> existing(const std::string& path);
  /// Throws `Error` (exit code 2) where nothing can be written into it or its checkpoints.
  void check_writable() const;

  /// Lets OUTPUT/JOB/latest lead to it, where the file system has links; something else of that
  /// name stays.
  void name_latest() const;

  /// Path of the folder.
  const std::string& path() const { return path_; }
  /// The path of a file in it.
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file, which appears whole; one that cannot be written throws `Error` (exit code 4
  /// where the disk is full, else 2).
  void write(const std::string& name, const std::string& content) const;

 private:
  explicit RunDirectory(std::string path) : path_(std::move(path)) {}
  bool lock();

  std::string path_;
  int log_ = -1;
};

}  // namespace pptrain
