#include "base/file_stamp.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "base/error.hpp"

namespace pptrain {

FileStamp::FileStamp(std::string path) : path_(std::move(path)), state_(state_of(path_)) {}

FileStamp::State FileStamp::state_of(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec};
}

void FileStamp::check_unchanged() const {
  const State now = state_of(path_);
  if (now == state_ || now.device != state_.device || now.number != state_.number) return;
  throw_runtime_failure({path_, "the file was changed while the job runs",
                         now.size == state_.size
                             ? "it was written after the job had begun"
                             : fmt::format("it had {} bytes and has {} now", state_.size, now.size),
                         "leave data as they are while a job runs; what was learned since may be "
                         "wrong: start again, or go on from a "
                         "checkpoint with the data that it had"});
}

}  // namespace pptrain
