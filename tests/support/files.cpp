#include "support/files.hpp"

#include <cstdlib>

namespace pptrain {

std::string source_file(const std::string& path) {
  const char* packed = std::getenv("PPTRAIN_TEST_SOURCE");  // of a folder of benchmarks/gpu/pack.sh
  return std::string(packed == nullptr ? PPTRAIN_SOURCE_DIR : packed) + "/" + path;
}

std::string test_data(const std::string& path) { return source_file("tests/data/" + path); }

}  // namespace pptrain
