#pragma once

#include "tensor/device.hpp"

namespace pptrain {

/// Memory of the host that its pages cannot leave, so that GPUs copy from and to it by themselves.
class PinnedMemory final : public Device {
 public:
  std::string name() const override { return "pinned memory of the host"; }
  void* allocate(std::size_t bytes) override;
  void free(void* block) override;
  Device& host_memory() override { return *this; }
  bool is_host() const override { return true; }

  // The host's own copies.
  void fill(void* block, unsigned char byte, std::size_t bytes) override {
    host_device().fill(block, byte, bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    host_device().copy(to, from, bytes);
  }
  void upload(void* to, const void* from, std::size_t bytes) override {
    host_device().upload(to, from, bytes);
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    host_device().download(to, from, bytes);
  }
  DeviceWorkPtr start_download(void* to, const void* from, std::size_t bytes) override {
    return host_device().start_download(to, from, bytes);
  }
  DeviceWorkPtr start_upload(void* to, const void* from, std::size_t bytes) override {
    return host_device().start_upload(to, from, bytes);
  }
  DeviceWorkPtr start_fetch(void* to, const void* from, std::size_t bytes) override {
    return host_device().start_fetch(to, from, bytes);
  }
  void follow(DeviceWork& work) override { host_device().follow(work); }
  DeviceWorkPtr work_so_far() override { return host_device().work_so_far(); }
  DeviceMomentPtr moment() override { return host_device().moment(); }
  void synchronize() override {}
};

}  // namespace pptrain
