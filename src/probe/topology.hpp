#pragma once

#include <hwloc.h>

#include <optional>
#include <string>
#include <vector>

namespace pptrain {

/// hwloc's picture of the host, and where in it this process may run.
class Topology {
 public:
  Topology();
  ~Topology();
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  /// Cores that the process may use, by the number of their first hardware thread; hyper-threads of
  /// a core count once.
  std::vector<int> allowed_cores() const;
  /// Sockets (processor packages) of the host; 1 where hwloc finds none.
  int num_sockets() const;
  /// The socket on whose cores alone the process may run, counted from 0 as hwloc does; nothing
  /// where the host has one socket, or the process may run on several.
  std::optional<int> own_socket() const;
  /// Model name of the processor as the system tells it; "cpu" where it does not.
  std::string cpu_model() const;
  /// The model with the processor's family, model number and stepping, as far as they are known:
  /// virtual machines call different processors alike.
  std::string processor() const;

 private:
  /// What hwloc knows of the processor under this name; "" where it knows nothing.
  std::string cpu_info(const char* name) const;
  /// The objects of a type, one after another.
  std::vector<hwloc_obj_t> objects(hwloc_obj_type_t type) const;

  hwloc_topology_t topology_ = nullptr;
};

}  // namespace pptrain
