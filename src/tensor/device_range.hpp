#pragma once

#include "tensor/device.hpp"

namespace pptrain {

/// What a device is told from here to the end of the scope, under a name in the timelines of its
/// profilers. Where the device is the host there are none, and the name is not made.
class DeviceRange {
 public:
  /// `name()` gives the name.
  template <class Name>
  DeviceRange(Device& device, const Name& name) : device_(device.is_host() ? nullptr : &device) {
    if (device_ != nullptr) device_->begin_range(name());
  }
  ~DeviceRange() {
    if (device_ != nullptr) device_->end_range();
  }
  DeviceRange(const DeviceRange&) = delete;
  DeviceRange& operator=(const DeviceRange&) = delete;

 private:
  Device* device_;
};

}  // namespace pptrain
