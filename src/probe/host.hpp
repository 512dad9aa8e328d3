#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pptrain {

/// What hwloc and the system say about the host of this rank.
struct HostReport {
  std::string name;    ///< host name, or Slurm's name of the node
  std::string kernel;  ///< the running kernel: the same in all containers of a host, whatever their
                       ///< names
  std::string cpu_model;
  std::vector<int> cores;  ///< that this process may use, by the kernel's number of their first
                           ///< hardware thread
  int sockets = 1;
  std::optional<int> socket;          ///< `Topology::own_socket`
  double memory_bytes = 0.0;          ///< of the whole host
  std::vector<std::string> switches;  ///< above it, from the top, where Slurm knows them
};

HostReport report_host();

std::string to_json(const HostReport& report);
HostReport host_report_from_json(const std::string& text);

}  // namespace pptrain
