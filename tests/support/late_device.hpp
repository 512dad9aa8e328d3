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

/// A device that does what it is told as late as it may: ordered work when something waits for it,
/// copies to the host when they have been asked for several times. What changes too early, or is
/// read too early, shows as a wrong number.
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
    order([to, now = std::vector<char>(first, first + bytes)] {
      std::memcpy(to, now.data(), now.size());
    });
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    ++num_blocking_;
    run_until(num_ordered_);
    std::memcpy(to, from, bytes);
  }
  DeviceWorkPtr start_download(void* to, const void* from, std::size_t bytes) override {
    return beside([=] { std::memcpy(to, from, bytes); });
  }
  DeviceWorkPtr start_upload(void* to, const void* from, std::size_t bytes) override {
    copy(to, from, bytes);
    return work_so_far();
  }
  /// Behind the downloads too.
  DeviceWorkPtr start_fetch(void* to, const void* from, std::size_t bytes) override {
    return beside([this, to, from, bytes, number = copies_.size()] {
      for (std::size_t before = 0; before < number; ++before) copies_[before]->run(*this);
      std::memcpy(to, from, bytes);
    });
  }
  void follow(DeviceWork& work) override {
    order([this, copy = static_cast<Work&>(work).copy()] { copy->run(*this); });
  }
  DeviceWorkPtr work_so_far() override {
    return std::make_unique<Work>(*this, std::make_shared<Copy>(num_ordered_));
  }
  DeviceMomentPtr moment() override {
    synchronize();
    return host_device().moment();
  }
  void synchronize() override {
    if (fails_) throw_runtime_failure({"", "the device has failed", "", ""});
    ++num_blocking_;
    run_until(num_ordered_);
    for (std::size_t i = 0; i < copies_.size(); ++i) copies_[i]->run(*this);
  }

  /// From now on waiting for it fails, as after an error of a kernel.
  void fail() { fails_ = true; }
  /// Calls that made the host wait.
  int num_blocking() const { return num_blocking_; }

 private:
  /// What goes on beside the order, behind what was ordered before it.
  struct Copy {
    explicit Copy(std::size_t comes_behind, std::function<void()> what = {})
        : behind(comes_behind), then(std::move(what)) {}
    void run(LateDevice& device) {
      device.run_until(behind);
      if (const std::function<void()> once = std::exchange(then, {})) once();
    }

    std::size_t behind;
    std::function<void()> then;
  };
  class Work final : public DeviceWork {
   public:
    Work(LateDevice& device, std::shared_ptr<Copy> copy)
        : device_(device), copy_(std::move(copy)) {}
    const std::shared_ptr<Copy>& copy() const { return copy_; }
    bool has_ended() override {
      if (device_.fails_) throw_runtime_failure({"", "the device has failed", "", ""});
      constexpr int patience = 3;
      if (polls_ == patience) return true;
      if (++polls_ < patience) return false;
      copy_->run(device_);
      return true;
    }

   private:
    LateDevice& device_;
    std::shared_ptr<Copy> copy_;
    int polls_ = 0;
  };

  DeviceWorkPtr beside(std::function<void()> what) {
    copies_.push_back(std::make_shared<Copy>(num_ordered_, std::move(what)));
    return std::make_unique<Work>(*this, copies_.back());
  }
  void order(std::function<void()> work) {
    ordered_.push_back(std::move(work));
    ++num_ordered_;
  }
  void run_until(std::size_t end) {
    while (num_done_ < end) {
      const std::function<void()> work = std::move(ordered_.front());
      ordered_.pop_front();
      ++num_done_;
      work();
    }
  }

  std::deque<std::function<void()>> ordered_;
  std::deque<std::shared_ptr<Copy>> copies_;
  std::size_t num_ordered_ = 0;
  std::size_t num_done_ = 0;
  int num_blocking_ = 0;
  bool fails_ = false;
};

}  // namespace pptrain::test
