#include <cstdlib>
#include <cstring>

#include "base/timing.hpp"
#include "tensor/device.hpp"

namespace pptrain {
namespace {

constexpr std::size_t cache_line = 64;

class Ended final : public DeviceWork {
 public:
  bool has_ended() override { return true; }
};

class HostMoment final : public DeviceMoment {
 public:
  bool has_ended() override { return true; }
  double seconds_since(DeviceMoment& earlier) override {
    return seconds_ - dynamic_cast<const HostMoment&>(earlier).seconds_;
  }

 private:
  double seconds_ = thread_cpu_seconds();
};

class HostDevice final : public Device {
 public:
  std::string name() const override { return "host"; }
  void* allocate(std::size_t bytes) override {
    return std::aligned_alloc(cache_line, (bytes + cache_line - 1) / cache_line * cache_line);
  }
  void free(void* block) override { std::free(block); }
  Device& host_memory() override { return *this; }
  bool is_host() const override { return true; }

  void fill(void* block, unsigned char byte, std::size_t bytes) override {
    if (bytes != 0) std::memset(block, byte, bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
  void upload(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void download(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  DeviceWorkPtr start_download(void* to, const void* from, std::size_t bytes) override {
    copy(to, from, bytes);
    return std::make_unique<Ended>();
  }
  DeviceWorkPtr start_upload(void* to, const void* from, std::size_t bytes) override {
    copy(to, from, bytes);
    return std::make_unique<Ended>();
  }
  DeviceWorkPtr start_fetch(void* to, const void* from, std::size_t bytes) override {
    return start_upload(to, from, bytes);
  }
  void follow(DeviceWork& /*work*/) override {}
  DeviceWorkPtr work_so_far() override { return std::make_unique<Ended>(); }
  DeviceMomentPtr moment() override { return std::make_unique<HostMoment>(); }
  void synchronize() override {}
};

}  // namespace

Device& host_device() {
  static HostDevice device;
  return device;
}

}  // namespace pptrain
