#pragma once

#include <string>

namespace pptrain {

/// What hwloc and the system say about the host of this rank.
struct HostReport {
  std::string name;  ///< host name
  std::string cpu_model;
  int cores = 1;  ///< cores this process may use
  int sockets = 1;
  double memory_bytes = 0.0;  ///< of the whole host
};

HostReport report_host();

std::string to_json(const HostReport& report);
HostReport host_report_from_json(const std::string& text);

}  // namespace pptrain
