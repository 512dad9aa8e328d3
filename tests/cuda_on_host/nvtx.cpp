#include <nvtx3/nvToolsExt.h>

#include <utility>

#include "stand_in.hpp"

struct nvtxDomainRegistration_st {
  std::string name;
  int depth = 0;
};

namespace {
std::vector<std::string> ranges;
}

namespace cuda_on_host {
std::vector<std::string> take_ranges() { return std::exchange(ranges, {}); }
}  // namespace cuda_on_host

using cuda_on_host::fault;

nvtxDomainHandle_t nvtxDomainCreateA(const char* name) {
  return new nvtxDomainRegistration_st{name};
}

void nvtxDomainDestroy(nvtxDomainHandle_t domain) {
  if (domain->depth != 0) fault("a range of " + domain->name + " has not ended");
  delete domain;
}

int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  if (attributes->version != NVTX_VERSION || attributes->size != NVTX_EVENT_ATTRIB_STRUCT_SIZE ||
      attributes->messageType != NVTX_MESSAGE_TYPE_ASCII) {
    fault("nvtxDomainRangePushEx: attributes that NVTX passes over");
  }
  ranges.emplace_back(attributes->message.ascii);
  return domain->depth++;
}

int nvtxDomainRangePop(nvtxDomainHandle_t domain) {
  if (domain->depth == 0) fault("nvtxDomainRangePop without a range");
  return --domain->depth;
}
