#include "runtime/emulation/emulated_clock.hpp"

#include <time.h>

#include <cerrno>
#include <cmath>

namespace pptrain {

double EmulatedClock::host() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void EmulatedClock::sleep_until(double time) {
  const double seconds = std::floor(time);
  const timespec until = {static_cast<time_t>(seconds), static_cast<long>(1e9 * (time - seconds))};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
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
