#pragma once

#include <fmt/format.h>

#include "probe/rank_hosts.hpp"

namespace pptrain::test {

/// A GPU on this bus; the same bus is the same GPU.
inline GpuReport fake_gpu(const std::string& name, int bus, double gigabytes) {
  GpuReport report;
  report.info.name = name;
  report.info.uuid = fmt::format("GPU-{:04x}", bus);
  report.info.bus_id = fmt::format("0000:{:02x}:00.0", bus);
  report.info.memory_bytes = gigabytes * 1024.0 * 1048576.0;
  report.info.free_bytes = report.info.memory_bytes - 512.0 * 1048576.0;
  report.info.major = 9;
  report.info.multiprocessors = 132;
  report.info.clock_hz = 1.83e9;
  report.info.memory_bandwidth = 3.35e12;
  return report;
}

}  // namespace pptrain::test
