#pragma once

#include <vector>

#include "tensor/arena.hpp"

namespace pptrain {

/// Copies within the memory of a device, or between that of one and that of the host; in the
/// device's order, and as its copies, uploads and downloads do.
void copy_between(Device& to_device, void* to, Device& from_device, const void* from,
                  std::size_t bytes);

/// Values that the host writes and a device reads: one copy where the device is the host, else
/// another in an arena.
template <class T>
class DeviceCopy {
 public:
  /// Room for n values of the host, to be written before `upload`.
  T* host(std::size_t n) {
    host_.resize(n);
    return host_.data();
  }
  /// As the device reads them, from now on.
  const T* upload(Arena& arena) {
    if (arena.device().is_host()) return host_.data();
    copy_ = Buffer(arena, host_.size() * sizeof(T));
    arena.device().upload(copy_.data(), host_.data(), copy_.bytes());
    return static_cast<const T*>(copy_.data());
  }

 private:
  std::vector<T> host_;
  Buffer copy_;
};

}  // namespace pptrain
