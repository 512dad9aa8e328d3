#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace pptrain {

/// Something that a device has been told to do and that may still go on.
class DeviceWork {
 public:
  virtual ~DeviceWork() = default;
  /// Whether it has ended; never blocks.
  virtual bool has_ended() = 0;
};
using DeviceWorkPtr = std::unique_ptr<DeviceWork>;

/// A point in the order of a device, and when it got there.
class DeviceMoment : public DeviceWork {
 public:
  /// Seconds by the device's clock from `earlier`, a moment of the same device, to this one, to
  /// about a microsecond as long as they are seconds apart; waits until both have ended.
  virtual double seconds_since(DeviceMoment& earlier) = 0;
};
using DeviceMomentPtr = std::unique_ptr<DeviceMoment>;

/// Memory of one device and the order in which it works.
///
/// Kernels, products and copies run one after another in the order of the calls, perhaps later than
/// the call: the device's *order*. Memory that is given back may be given out again at once, since
/// what uses it then comes later in that order. The host reads and writes memory of the device
/// through these functions alone, even where it could do so itself.
class Device {
 public:
  virtual ~Device() = default;
  /// For messages and logs: "host", "GPU 0 (NVIDIA H200)".
  virtual std::string name() const = 0;

  /// Uninitialised memory aligned to at least 64 bytes; null where none is left.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Returns a block of `allocate` to the device, which may first wait for all that it was told.
  virtual void free(void* block) = 0;
  /// Memory of the host that this device copies from and to fastest, as a device: the host itself,
  /// or pinned memory.
  virtual Device& host_memory() = 0;
  /// Whether host code may follow pointers to its memory.
  virtual bool is_host() const = 0;

  /// Fills and copies run in the device's order.
  virtual void fill(void* block, unsigned char byte, std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;  ///< within its memory
  /// `from`, memory of the host, may change when this returns.
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  /// Returns when `to`, memory of the host, has it: waits for everything before.
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;

  /// Copies behind everything before and beside everything after: neither side may change until the
  /// result has ended.
  virtual DeviceWorkPtr start_download(void* to, const void* from, std::size_t bytes) = 0;
  /// Copies in the device's order; `from` may not change until the result has ended.
  virtual DeviceWorkPtr start_upload(void* to, const void* from, std::size_t bytes) = 0;
  /// Copies from memory of the host behind everything before, downloads included, and beside
  /// everything after: neither side may be used, or change, until the result has ended or is
  /// followed.
  virtual DeviceWorkPtr start_fetch(void* to, const void* from, std::size_t bytes) = 0;
  /// What is called from now on comes behind `work`, a download or fetch that this device has
  /// started; it may then be let go of.
  virtual void follow(DeviceWork& work) = 0;
  /// What has been called so far.
  virtual DeviceWorkPtr work_so_far() = 0;
  /// What has been called so far, with the time at which it ends. The clock is the one that tells
  /// what a device takes: a GPU's own, the calling thread's CPU time on the host, where ranks may
  /// share a core.
  virtual DeviceMomentPtr moment() = 0;
  /// Waits for everything that has been called.
  virtual void synchronize() = 0;

  /// What is called from here to `end_range` belongs together under a name, for profilers of the
  /// device (`DeviceRange`).
  virtual void begin_range(const std::string& /*name*/) {}
  /// Ends the range that was begun last.
  virtual void end_range() {}
};

/// The memory of this process; all calls have ended when they return. Lives as long as the program.
Device& host_device();

}  // namespace pptrain
