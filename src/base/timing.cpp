#include "base/timing.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>

namespace pptrain {
namespace {

double seconds_of(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

TimeSource machine;
TimeSource* current = &machine;

}  // namespace

double TimeSource::wall_seconds() { return seconds_of(CLOCK_MONOTONIC); }

double TimeSource::thread_cpu_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

void TimeSource::sleep_until(double time) {
  const double seconds = std::floor(time);
  const timespec until = {static_cast<time_t>(seconds), static_cast<long>(1e9 * (time - seconds))};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

void set_time_source(TimeSource* source) { current = source == nullptr ? &machine : source; }

double wall_seconds() { return current->wall_seconds(); }

double thread_cpu_seconds() { return current->thread_cpu_seconds(); }

void sleep_until(double time) { current->sleep_until(time); }

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

}  // namespace pptrain
