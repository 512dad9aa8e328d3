#pragma once

// The part of NCCL that src/cuda uses, over MPI messages (see nccl.cpp). Names and signatures are NVIDIA's.

#include <cuda_runtime.h>

#define NCCL_MAJOR 2
#define NCCL_MINOR 28
#define NCCL_PATCH 9
#define NCCL_VERSION_CODE 22809
#define NCCL_UNIQUE_ID_BYTES 128

using ncclComm_t = struct StandInNcclComm*;

struct ncclUniqueId {
  char internal[NCCL_UNIQUE_ID_BYTES];
};

enum ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
};
enum ncclDataType_t { ncclUint8 = 1, ncclFloat32 = 7, ncclBfloat16 = 9 };
enum ncclRedOp_t { ncclSum = 0, ncclMax = 2 };

struct ncclConfig_t {
  int blocking;
};
#define NCCL_CONFIG_INITIALIZER \
  { 1 }

// A result that nobody looks at is a warning, which is an error in CI.
[[nodiscard]] ncclResult_t ncclGetVersion(int* version);
[[nodiscard]] ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
[[nodiscard]] ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                                  ncclConfig_t* config);
[[nodiscard]] ncclResult_t ncclCommFinalize(ncclComm_t comm);
[[nodiscard]] ncclResult_t ncclCommDestroy(ncclComm_t comm);
[[nodiscard]] ncclResult_t ncclCommAbort(ncclComm_t comm);
[[nodiscard]] ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state);
const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t comm);

[[nodiscard]] ncclResult_t ncclGroupStart();
[[nodiscard]] ncclResult_t ncclGroupEnd();
[[nodiscard]] ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                                         ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
[[nodiscard]] ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                                      ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream);
[[nodiscard]] ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type, int root,
                                         ncclComm_t comm, cudaStream_t stream);
[[nodiscard]] ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                                             ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
[[nodiscard]] ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                                    cudaStream_t stream);
[[nodiscard]] ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                                    cudaStream_t stream);
[[nodiscard]] ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                                         ncclComm_t comm, cudaStream_t stream);
