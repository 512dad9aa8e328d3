#pragma once

#include <cstddef>
#include <vector>

#include "tensor/device.hpp"

namespace pptrain {

/// Memory of a device for what kernels hand to the next kernel of the same call: a block that is
/// used again by the next call, later in the device's order, and gives way to one twice as large
/// where it is too small. Outside every arena; a few megabytes.
class Scratch {
 public:
  explicit Scratch(Device& device) : device_(device) {}
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// n elements, until the next call.
  template <class T>
  T* take(std::size_t n) {
    return static_cast<T*>(take_bytes(n * sizeof(T)));
  }

 private:
  void* take_bytes(std::size_t bytes);

  Device& device_;
  std::vector<void*> blocks_;  ///< the last is in use; the others stay, see take_bytes
  std::size_t bytes_ = 0;      ///< of the last
};

}  // namespace pptrain
