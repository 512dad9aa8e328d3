#include "fuzz_folder.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/error.hpp"

namespace pptrain {

namespace fs = std::filesystem;

FuzzFolder::FuzzFolder() {
  std::string name =
      fs::is_directory("/dev/shm") ? "/dev/shm/pptrain-fuzz-XXXXXX" : "/tmp/pptrain-fuzz-XXXXXX";
  if (const char* given = std::getenv("TMPDIR")) name = std::string(given) + "/XXXXXX";
  PPTRAIN_ASSERT(::mkdtemp(name.data()) != nullptr, "{} cannot be made", name);
  folder_ = name;
}

FuzzFolder::~FuzzFolder() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string bytes_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write_bytes(const std::string& path, const std::string& bytes) {
  // A file of its own each time: HDF5 knows files that it could not close by their inode.
  ::unlink(path.c_str());
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace pptrain
