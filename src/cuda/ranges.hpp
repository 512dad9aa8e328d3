#pragma once

#include <string>

struct nvtxDomainRegistration_st;

namespace pptrain {

/// Named ranges of calls in the timelines of NVIDIA's profilers (NVTX): where none looks on, they
/// cost a look at a pointer.
class ProfilerRanges {
 public:
  ProfilerRanges();
  ~ProfilerRanges();
  ProfilerRanges(const ProfilerRanges&) = delete;
  ProfilerRanges& operator=(const ProfilerRanges&) = delete;

  /// Begins a range of the calling thread, inside those that it has open.
  void begin(const std::string& name);
  /// Ends the range that the calling thread has begun last.
  void end();

 private:
  nvtxDomainRegistration_st* domain_;
};

}  // namespace pptrain
