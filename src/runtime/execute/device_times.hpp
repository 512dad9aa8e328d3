#pragma once

#include <array>
#include <list>
#include <memory>

#include "comm/waiter.hpp"
#include "tensor/device.hpp"

namespace pptrain {

/// What a device waits for.
enum class WaitKind { communication, idle };

/// When a device gets to points of its order, and how long it waits for others, in seconds of an
/// iteration.
///
/// The host tells a GPU what to do ahead of what it does, so its own times would be those of
/// telling. A point is marked in the GPU's order instead, and read by the GPU's clock when it has
/// been reached; how long the GPU waits is the time from the end of all that was called before a
/// wait to the end of what came with it. On the host both are its own times.
class DeviceTimes {
 public:
  struct Point {
    double host_seconds = 0.0;
    DeviceMomentPtr moment = nullptr;  ///< null on the host
  };

  /// Observes the waits of `waiter` as long as it lives.
  DeviceTimes(Device& device, Waiter& waiter);
  ~DeviceTimes();
  DeviceTimes(const DeviceTimes&) = delete;
  DeviceTimes& operator=(const DeviceTimes&) = delete;

  /// Seconds count from now. The two clocks are compared here, once per iteration, so that they
  /// drift apart by no more than they do in one; that is exact where the device has nothing left to
  /// do.
  void start();
  /// Seconds since `start` by the host's clock.
  double host_seconds() const;
  /// Marks how far the device's order has come; `seconds` says when the device got there, once it
  /// has.
  Point now();
  /// When the device got there, which it has to have done.
  double seconds(const Point& point) const;

  /// What was waited since the last call of this was of that kind.
  void count(WaitKind kind);
  /// Seconds of such waits since the last call of this. Waits that the device has not come to are
  /// left for later.
  double take(WaitKind kind);

 private:
  struct Wait {
    DeviceMomentPtr begin, end;
    WaitKind kind;
  };

  void observe(WaitEdge edge);

  Device& device_;
  Waiter& waiter_;
  double start_ = 0.0;  ///< of the host
  DeviceMomentPtr device_start_;
  std::list<Wait> uncounted_, waits_;  ///< of a device other than the host
  std::array<double, 2> host_waits_ = {};
};

}  // namespace pptrain
