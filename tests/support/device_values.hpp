#pragma once

#include <vector>

#include "tensor/arena.hpp"

namespace pptrain::test {

/// An array in the memory of an arena's device.
class DeviceValues {
 public:
  DeviceValues(Arena& arena, const std::vector<float>& from)
      : device_(arena.device()), buffer_(arena, from.size() * sizeof(float)), n_(from.size()) {
    device_.upload(buffer_.data(), from.data(), buffer_.bytes());
  }
  float* data() const { return static_cast<float*>(buffer_.data()); }
  std::size_t size() const { return n_; }
  std::vector<float> read() const {
    std::vector<float> values(n_);
    device_.download(values.data(), buffer_.data(), buffer_.bytes());
    return values;
  }

 private:
  Device& device_;
  Buffer buffer_;
  std::size_t n_;
};

}  // namespace pptrain::test
