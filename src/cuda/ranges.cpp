#include "cuda/ranges.hpp"

#include <nvtx3/nvToolsExt.h>

namespace pptrain {

ProfilerRanges::ProfilerRanges() : domain_(nvtxDomainCreateA("pptrain")) {}

ProfilerRanges::~ProfilerRanges() { nvtxDomainDestroy(domain_); }

void ProfilerRanges::begin(const std::string& name) {
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name.c_str();
  nvtxDomainRangePushEx(domain_, &attributes);
}

void ProfilerRanges::end() { nvtxDomainRangePop(domain_); }

}  // namespace pptrain
