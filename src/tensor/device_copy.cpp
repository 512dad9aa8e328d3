#include "tensor/device_copy.hpp"

#include "base/error.hpp"

namespace pptrain {

void copy_between(Device& to_device, void* to, Device& from_device, const void* from,
                  std::size_t bytes) {
  if (bytes == 0) return;
  if (&to_device == &from_device) return to_device.copy(to, from, bytes);
  PPTRAIN_ASSERT(to_device.is_host() || from_device.is_host(), "no copy from {} to {}",
                 from_device.name(), to_device.name());
  if (to_device.is_host()) return from_device.download(to, from, bytes);
  to_device.upload(to, from, bytes);
}

}  // namespace pptrain
