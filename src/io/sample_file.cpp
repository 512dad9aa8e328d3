#include "io/sample_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.hpp"
#include "io/hdf5.hpp"

namespace pptrain {

void SampleFile::open(const Wording& wording, const std::function<void()>& open) const {
  silence_hdf5();
  std::error_code ignored;
  if (!std::filesystem::exists(path_, ignored)) {
    refuse("the file does not exist", "[data] names it", "check the path, or write \"synthetic\"");
  }
  try {
    open();
  } catch (const Hdf5Mismatch& mismatch) {
    refuse(fmt::format("/{} is not what the model takes", mismatch.name()), mismatch.reason(),
           fmt::format("{} (docs/models.md)", wording.correction));
  } catch (const Hdf5Failure& failure) {
    refuse(fmt::format("the file cannot be read as HDF5 with {}", wording.names), failure.what(),
           fmt::format("write {} (docs/models.md)", wording.all));
  }
}

void SampleFile::read(const char* what, std::int64_t index, const std::function<void()>& read) const {
  try {
    read();
  } catch (const Hdf5Failure& failure) {
    throw_runtime_failure({path_, fmt::format("{} {} can no longer be read", what, index), failure.reason(),
                           "leave the file as it is while the job runs"});
  }
}

void SampleFile::refuse(const std::string& problem, const std::string& reason, const std::string& suggestion) const {
  throw_bad_input({source_, fmt::format("{}: {}", path_, problem), reason, suggestion});
}

}  // namespace pptrain
