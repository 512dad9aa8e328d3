#pragma once

#include <cuda_runtime.h>

#include <sstream>
#include <string>
#include <type_traits>

/// Calls of the CUDA runtime and its libraries, each checked. C++17, for .cu files too.
namespace pptrain::cuda {

// Another library whose calls are checked adds an overload of these two for its own status.
inline bool succeeded(cudaError_t status) { return status == cudaSuccess; }
/// "cudaErrorInvalidValue, 1: invalid argument".
std::string status_text(cudaError_t status);

/// Ends with exit code 4 and what was called with which arguments.
[[noreturn]] void fail_call(const char* function, const char* arguments, const std::string& values,
                            const std::string& status);
/// Logs what was called with which arguments and failed, for destructors, which must not throw.
void warn_of_call(const char* function, const char* arguments, const std::string& values,
                  const std::string& status);

template <class T>
void write_value(std::ostream& out, const T& value) {
  if constexpr (std::is_pointer_v<T> || std::is_null_pointer_v<T>) {
    out << (value == nullptr ? "null" : "");
    if (value != nullptr) out << reinterpret_cast<const void*>(value);
  } else if constexpr (std::is_enum_v<T>) {
    out << static_cast<long long>(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    out << +value;
  } else {
    out << "{...}";
  }
}

inline void write_value(std::ostream& out, const dim3& size) {
  out << size.x << "x" << size.y << "x" << size.z;
}

/// The values of arguments, separated by commas.
template <class... Arguments>
std::string values_text(const Arguments&... arguments) {
  std::ostringstream text;
  [[maybe_unused]] const char* separator = "";
  ((text << separator, write_value(text, arguments), separator = ", "), ...);
  return text.str();
}

}  // namespace pptrain::cuda

/// function(arguments...), which has to succeed; the message of a failure has the arguments and
/// their values.
#define PPTRAIN_CHECKED(function, ...)                                          \
  do {                                                                          \
    if (const auto pptrain_status = function(__VA_ARGS__);                      \
        !::pptrain::cuda::succeeded(pptrain_status)) {                          \
      ::pptrain::cuda::fail_call(#function, #__VA_ARGS__,                       \
                                 ::pptrain::cuda::values_text(__VA_ARGS__),     \
                                 ::pptrain::cuda::status_text(pptrain_status)); \
    }                                                                           \
  } while (false)

#define PPTRAIN_CUDA(function, ...) PPTRAIN_CHECKED(function, __VA_ARGS__)

/// function(arguments...) in a destructor: a failure is logged, with the arguments and their
/// values.
#define PPTRAIN_CUDA_OR_WARN(function, ...)                                        \
  do {                                                                             \
    if (const auto pptrain_status = function(__VA_ARGS__);                         \
        !::pptrain::cuda::succeeded(pptrain_status)) {                             \
      ::pptrain::cuda::warn_of_call(#function, #__VA_ARGS__,                       \
                                    ::pptrain::cuda::values_text(__VA_ARGS__),     \
                                    ::pptrain::cuda::status_text(pptrain_status)); \
    }                                                                              \
  } while (false)
