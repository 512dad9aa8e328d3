#pragma once

#include <string>
#include <vector>

#include "program/program.hpp"

namespace pptrain {

/// What a device does at the same time.
enum class Lane { compute, communication };

/// One instruction of one device, from begin to end in seconds since the iteration began.
struct TraceEvent {
  DeviceId device;
  Lane lane = Lane::compute;
  Instruction instruction;
  double begin = 0.0;
  double end = 0.0;
};
using Trace = std::vector<TraceEvent>;

/// Chrome trace-event JSON: a process per device, thread 0 for what it computes, further ones for
/// what it communicates at a time; microseconds; by begin.
std::string chrome_trace(const Trace& trace);
/// One document of several of `chrome_trace`.
std::string merge_chrome_traces(const std::vector<std::string>& traces);

}  // namespace pptrain
