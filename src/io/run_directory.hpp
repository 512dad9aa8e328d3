#pragma once

#include <string>

namespace pptrain {

/// Refuses an output directory in which nothing can be created, without writing anything: `Error`
/// (exit code 2) with `where` as the place. For the check before a long profile.
void check_output_directory(const std::string& output, const std::string& where);

/// The folder of one run, OUTPUT/JOB/YYYY-MM-DD_HH-MM-SS, with -1, -2, ... behind it when there is one.
class RunDirectory {
 public:
  /// Creates the folder; two jobs that start in the same second get different ones.
  /// An output directory that cannot be written throws `Error` (exit code 2) with `where` as the place.
  RunDirectory(const std::string& output, const std::string& job_name, const std::string& where);

  /// One that is there, of a run that goes on. One that cannot be written throws `Error` (exit code 2).
  static RunDirectory existing(const std::string& path);

  const std::string& path() const { return path_; }
  /// The path of a file in it.
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file; one that cannot be written throws `Error` (exit code 2).
  void write(const std::string& name, const std::string& content) const;

 private:
  RunDirectory() = default;
  std::string path_;
};

}  // namespace pptrain
