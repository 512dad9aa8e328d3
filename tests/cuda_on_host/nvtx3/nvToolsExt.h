#pragma once

// The part of NVTX that src/cuda uses: ranges are kept for tests (stand_in.hpp).

#include <cstddef>
#include <cstdint>

constexpr std::uint16_t NVTX_VERSION = 3;

using nvtxDomainHandle_t = struct nvtxDomainRegistration_st*;
enum nvtxMessageType_t { NVTX_MESSAGE_UNKNOWN = 0, NVTX_MESSAGE_TYPE_ASCII = 1 };
union nvtxMessageValue_t {
  const char* ascii;
};
struct nvtxEventAttributes_t {
  std::uint16_t version, size;
  std::int32_t messageType;
  nvtxMessageValue_t message;
};
constexpr std::uint16_t NVTX_EVENT_ATTRIB_STRUCT_SIZE = sizeof(nvtxEventAttributes_t);

nvtxDomainHandle_t nvtxDomainCreateA(const char* name);
void nvtxDomainDestroy(nvtxDomainHandle_t domain);
int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes);
int nvtxDomainRangePop(nvtxDomainHandle_t domain);
