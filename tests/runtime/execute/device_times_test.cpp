#include "runtime/execute/device_times.hpp"

#include "support/catch.hpp"
#include "support/late_device.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// A device whose clock, and how far it has come, the test sets.
class ClockedDevice final : public LateDevice {
 public:
  double clock = 100.0;       ///< seconds, when the next moment is reached
  double has_come_to = 1e30;  ///< of the clock

  DeviceMomentPtr moment() override { return std::make_unique<Moment>(*this); }

 private:
  class Moment final : public DeviceMoment {
   public:
    explicit Moment(const ClockedDevice& device) : device_(device), seconds_(device.clock) {}
    bool has_ended() override { return device_.has_come_to >= seconds_; }
    double seconds_since(DeviceMoment& earlier) override {
      REQUIRE(has_ended());
      return seconds_ - dynamic_cast<const Moment&>(earlier).seconds_;
    }

   private:
    const ClockedDevice& device_;
    double seconds_;
  };
};

/// Ends at once, as what the device orders itself; meanwhile its clock goes on.
class Ordered final : public Pending {
 public:
  Ordered(ClockedDevice& device, double seconds) : device_(device), seconds_(seconds) {}
  bool test() override {
    device_.clock += seconds_;
    return true;
  }
  std::string missing() const override { return "nothing"; }

 private:
  ClockedDevice& device_;
  double seconds_;
};

struct Bench {
  ClockedDevice device;
  Waiter waiter{600.0, CoreUse::shared};
  DeviceTimes times{device, waiter};

  Bench() { times.start(); }
  void wait(double seconds) {
    Ordered pending(device, seconds);
    waiter.wait(pending, [] { return std::string(); });
  }
};

}  // namespace

TEST_CASE("points of a device are told by its clock, from the iteration's start", "[np1]") {
  Bench bench;
  bench.device.clock = 102.5;
  const DeviceTimes::Point point = bench.times.now();
  bench.device.clock = 250.0;
  CHECK(bench.times.seconds(point) == Approx(2.5));
  bench.times.start();
  bench.device.clock = 251.0;
  CHECK(bench.times.seconds(bench.times.now()) == Approx(1.0));
}

TEST_CASE("waits of a device are counted by kind, by its clock", "[np1]") {
  Bench bench;
  bench.wait(0.5);
  bench.device.clock += 10.0;  // computes
  bench.wait(0.25);
  bench.times.count(WaitKind::communication);
  bench.wait(3.0);
  bench.times.count(WaitKind::idle);
  bench.times.count(WaitKind::communication);
  CHECK(bench.times.take(WaitKind::communication) == Approx(0.75));
  CHECK(bench.times.take(WaitKind::idle) == Approx(3.0));
  CHECK(bench.times.take(WaitKind::communication) == 0.0);
}

TEST_CASE("waits beside a wait are part of it", "[np1]") {
  Bench bench;
  Ordered first(bench.device, 0.5), second(bench.device, 0.25), outer(bench.device, 2.0);
  PendingBeside pending(outer, [&] {
    bench.waiter.wait(first, [] { return std::string(); });
    bench.waiter.wait(second, [] { return std::string(); });
  });
  bench.wait(1.0);
  bench.waiter.wait(pending, [] { return std::string(); });
  bench.times.count(WaitKind::communication);
  CHECK(bench.times.take(WaitKind::communication) == Approx(3.75));
}

TEST_CASE("waits that the device has not come to are counted when it has", "[np1]") {
  Bench bench;
  bench.wait(1.0);
  bench.device.has_come_to = bench.device.clock;
  bench.wait(2.0);
  bench.times.count(WaitKind::communication);
  CHECK(bench.times.take(WaitKind::communication) == Approx(1.0));
  bench.times.start();
  bench.device.has_come_to = 1e30;
  bench.wait(4.0);  // between iterations
  bench.times.start();
  CHECK(bench.times.take(WaitKind::communication) == Approx(2.0));
}

TEST_CASE("waiting for one's own device is no waiting for others", "[np1]") {
  Bench bench;
  Ordered pending(bench.device, 5.0);
  bench.waiter.wait_for_own(pending);
  bench.times.count(WaitKind::communication);
  CHECK(bench.times.take(WaitKind::communication) == 0.0);
  CHECK(bench.waiter.take_seconds() == 0.0);
}

TEST_CASE("on the host points and waits are its own", "[np1]") {
  Waiter waiter(600.0, CoreUse::shared);
  DeviceTimes times(host_device(), waiter);
  times.start();
  const DeviceTimes::Point point = times.now();
  ClockedDevice other;
  Ordered pending(other, 1.0);
  waiter.wait(pending, [] { return std::string(); });
  times.count(WaitKind::idle);
  const double waited = times.take(WaitKind::idle);
  CHECK(waited > 0.0);
  CHECK(waited <= times.host_seconds());
  CHECK(times.seconds(point) == point.host_seconds);
  CHECK(point.host_seconds <= times.host_seconds());
}
