#pragma once

#include <memory>
#include <optional>
#include <string>

#include "probe/gpu_link.hpp"

namespace pptrain {

/// NVIDIA's management library, which comes with the driver and is loaded when asked for: pptrain
/// is not linked with it. It knows all GPUs of the host, also those that a launcher hides from the
/// process.
class Nvml {
 public:
  static constexpr const char* usual_name = "libnvidia-ml.so.1";

  /// `library`: a name that the system finds, or a path.
  explicit Nvml(const std::string& library = usual_name);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Why it cannot be asked; "" where it can.
  const std::string& why_not() const { return why_not_; }
  /// Between the GPUs on these buses; nothing where the library does not tell.
  std::optional<GpuLink> link(const std::string& bus_id, const std::string& other_bus_id) const;

 private:
  struct Functions;
  std::unique_ptr<Functions> functions_;
  std::string why_not_;
};

}  // namespace pptrain
