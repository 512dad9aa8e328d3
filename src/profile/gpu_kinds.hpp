#pragma once

#include <string>

namespace pptrain {

/// What is known of a kind of GPU beside the rates that a cluster file has of it.
struct GpuKind {
  std::string architecture;  ///< as the names of the constants have it: "volta", "ampere", ...
  int multiprocessors = 0;
  int link_neighbours = 0;  ///< GPUs of a node among which the links of one are divided; 0: a
                            ///< switch reaches all at once
  bool arm_host = false;    ///< whether it shares its package with an Arm processor, which launches
                            ///< kernels
};

/// The kind that a name means, as data sheets and `nvidia-smi` write it, such as "A100-SXM-80GB";
/// null: none that is known.
const GpuKind* gpu_kind(const std::string& name);

}  // namespace pptrain
