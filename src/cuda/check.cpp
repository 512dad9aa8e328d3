#include "cuda/check.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/log.hpp"

namespace pptrain::cuda {
namespace {

std::string call_text(const char* function, const char* arguments, const std::string& values) {
  return fmt::format("{}({}) failed with the values ({})", function, arguments, values);
}

}  // namespace

std::string status_text(cudaError_t status) {
  return fmt::format("{}, {}: {}", cudaGetErrorName(status), static_cast<int>(status),
                     cudaGetErrorString(status));
}

void fail_call(const char* function, const char* arguments, const std::string& values,
               const std::string& status) {
  throw_runtime_failure({"", call_text(function, arguments, values), status, ""});
}

void warn_of_call(const char* function, const char* arguments, const std::string& values,
                  const std::string& status) {
  log_warning("{} ({})", call_text(function, arguments, values), status);
}

}  // namespace pptrain::cuda
