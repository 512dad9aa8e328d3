#include "probe/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace pptrain {
namespace {

// As NVML's reference has them (nvml.h, all versions since 8).
constexpr int success = 0;
constexpr int p2p_nvlink = 2;              // nvmlGpuP2PCapsIndex_t
constexpr int p2p_ok = 0;                  // nvmlGpuP2PStatus_t
constexpr int most_of_pcie_switches = 20;  // nvmlGpuTopologyLevel_t: NVML_TOPOLOGY_MULTIPLE, below
                                           // any host bridge

}  // namespace

struct Nvml::Functions {
  using Device = struct nvmlDevice_st*;

  void* library = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device_by_bus_id)(const char*, Device*) = nullptr;
  int (*p2p_status)(Device, Device, int, int*) = nullptr;
  int (*common_ancestor)(Device, Device, int*) = nullptr;

  /// The name of the first function that the library lacks; "" where it has all.
  std::string load() {
    std::string missing;
    const auto find = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr && missing.empty()) missing = name;
    };
    find(init, "nvmlInit_v2");
    find(shutdown, "nvmlShutdown");
    find(device_by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
    find(p2p_status, "nvmlDeviceGetP2PStatus");
    find(common_ancestor, "nvmlDeviceGetTopologyCommonAncestor");
    return missing;
  }

  /// Null where it is not known.
  Device device(const std::string& bus_id) const {
    Device device = nullptr;
    return device_by_bus_id(bus_id.c_str(), &device) == success ? device : nullptr;
  }
};

Nvml::Nvml(const std::string& library) : functions_(std::make_unique<Functions>()) {
  functions_->library = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (functions_->library == nullptr) {
    const char* error = dlerror();
    why_not_ = error == nullptr ? library + " cannot be loaded" : error;
    return;
  }
  if (const std::string missing = functions_->load(); !missing.empty()) {
    why_not_ = fmt::format("{} has no {}", library, missing);
  } else if (const int status = functions_->init(); status != success) {
    why_not_ = fmt::format("nvmlInit_v2 of {} answers {}", library, status);
  }
}

Nvml::~Nvml() {
  if (functions_->library == nullptr) return;
  if (why_not_.empty()) functions_->shutdown();
  dlclose(functions_->library);
}

std::optional<GpuLink> Nvml::link(const std::string& bus_id,
                                  const std::string& other_bus_id) const {
  if (!why_not_.empty()) return std::nullopt;
  const Functions::Device one = functions_->device(bus_id);
  const Functions::Device other = functions_->device(other_bus_id);
  if (one == nullptr || other == nullptr) return std::nullopt;
  int status = -1;
  if (functions_->p2p_status(one, other, p2p_nvlink, &status) == success && status == p2p_ok)
    return GpuLink::nvlink;
  int level = -1;
  if (functions_->common_ancestor(one, other, &level) != success) return std::nullopt;
  return level <= most_of_pcie_switches ? GpuLink::pcie : GpuLink::through_host;
}

}  // namespace pptrain
