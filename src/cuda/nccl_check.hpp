#pragma once

#include <nccl.h>

#include <string>

#include "cuda/check.hpp"

namespace pptrain::cuda {

/// A call of a communicator that does not block may go on behind the host's back:
/// ncclCommGetAsyncError tells how it went.
inline bool succeeded(ncclResult_t status) {
  return status == ncclSuccess || status == ncclInProgress;
}
/// "ncclInvalidUsage, 5: ... (what NCCL says to it)".
std::string status_text(ncclResult_t status);

}  // namespace pptrain::cuda

#define PPTRAIN_NCCL(function, ...) PPTRAIN_CHECKED(function, __VA_ARGS__)
