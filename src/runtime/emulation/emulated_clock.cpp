#include "runtime/emulation/emulated_clock.hpp"

#include "base/timing.hpp"

namespace pptrain {

double EmulatedClock::host() { return wall_seconds(); }

void EmulatedClock::sleep_until(double time) {
  pptrain::sleep_until(time);
  reach(time);
}

void EmulatedClock::wait_rest(double time) {
  const double now = host();
  if (now < time) {
    sleep_until(time);
  } else {
    reach(now);
  }
}

}  // namespace pptrain
