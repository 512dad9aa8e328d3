#include "support/files.hpp"

namespace pptrain {

std::string source_file(const std::string& path) { return PPTRAIN_SOURCE_DIR "/" + path; }

std::string test_data(const std::string& path) { return source_file("tests/data/" + path); }

}  // namespace pptrain
