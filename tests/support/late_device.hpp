#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "tensor/device.hpp"

namespace pptrain::test {

/// A device that does what it is told as late as it may: ordered work when something waits for it, copies to the host
/// when they have been asked for several times. What changes too early, or is read too early, shows as a wrong number.
class LateDevice : public Device {
 public:
  std::string name() const override { return "late device"; }
  void* allocate(std::size_t bytes) override { return host_device().allocate(bytes); }
  void free(void* block) override { host_device().free(block); }
  Device& host_memory() override { return host_device(); }
  bool is_host() const override { return false; }

  void fill(void* block, unsigned char byte, std::size_t bytes) override {
    order([=] { std::memset(block, byte, bytes); });
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    order([=] { std::memcpy(to, from, bytes); });
  }
  void upload(void* to, const void* from, std::size_t bytes) override {
    const auto* first = static_cast<const char*>(from);
    order([to, now = std::vector<char>(first, first + bytes)] { std::memcpy(to, now.data(), now.size()); });
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    synchronize();
    std::memcpy(to, from, bytes);
  }
  DeviceWorkPtr start_download(void* to, const void* from, std::size_t bytes) override {
    return std::make_unique<Work>(*this, [=] { std::memcpy(to, from, bytes); });
  }
  DeviceWorkPtr start_upload(void* to, const void* from, std::size_t bytes) override {
    copy(to, from, bytes);
    return work_so_far();
  }
  DeviceWorkPtr work_so_far() override {
    return std::make_unique<Work>(*this, [] {});
  }
  DeviceMomentPtr moment() override {
    synchronize();
    return host_device().moment();
  }
  void synchronize() override {
    if (fails_) throw_runtime_failure({"", "the device has failed", "", ""});
    ++num_blocking_;
    run_until(num_ordered_);
  }

  /// From now on waiting for it fails, as after an error of a kernel.
  void fail() { fails_ = true; }
  /// Calls that made the host wait.
  int num_blocking() const { return num_blocking_; }

 private:
  class Work final : public DeviceWork {
   public:
    Work(LateDevice& device, std::function<void()> then)
        : device_(device), behind_(device.num_ordered_), then_(std::move(then)) {}
    bool has_ended() override {
      if (device_.fails_) throw_runtime_failure({"", "the device has failed", "", ""});
      constexpr int patience = 3;
      if (polls_ == patience) return true;
      if (++polls_ < patience) return false;
      device_.run_until(behind_);
      then_();
      return true;
    }

   private:
    LateDevice& device_;
    std::size_t behind_;
    std::function<void()> then_;
    int polls_ = 0;
  };

  void order(std::function<void()> work) {
    ordered_.push_back(std::move(work));
    ++num_ordered_;
  }
  void run_until(std::size_t end) {
    for (; num_done_ < end; ++num_done_) {
      ordered_.front()();
      ordered_.pop_front();
    }
  }

  std::deque<std::function<void()>> ordered_;
  std::size_t num_ordered_ = 0;
  std::size_t num_done_ = 0;
  int num_blocking_ = 0;
  bool fails_ = false;
};

}  // namespace pptrain::test
