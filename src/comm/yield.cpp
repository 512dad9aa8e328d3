#include "comm/yield.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "comm/launcher.hpp"

namespace pptrain {
namespace {

constexpr double long_yield = 1.5e-3;  // more than ranks take from task to task, less than a time
                                       // slice
// Naps go on for so long until a yield shows again whether others are there, which takes a slice of
// each of them.
constexpr double naps_last = 1.0;
constexpr double first_nap = 20e-6;
constexpr double longest_nap = 200e-6;
constexpr double between_naps = 50e-6;  // a rank that did more than look for a message begins a new
                                        // wait

/// How many programs of this host are ready to run or running, by /proc/loadavg ("0.20 0.18 0.12
/// 3/80 11206": 3). The number is 0 where that file cannot be read, so that ranks yield.
long count_ready() {
  const int file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 128> text{};
  const ssize_t size = read(file, text.data(), text.size() - 1);
  close(file);
  long ready = 0;
  if (size <= 0 || std::sscanf(text.data(), "%*s %*s %*s %ld/", &ready) != 1) return 0;
  return ready;
}

/// How many programs are ready at most while this job has the host to itself. Each eighth rank
/// counts for two, because the launcher and the kernel's threads run now and then.
long most_ready_of_job() {
  const long ranks = num_ranks_of_host();
  return std::max(ranks + ranks / 8, sysconf(_SC_NPROCESSORS_ONLN));
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

double YieldPolicy::nap(double now) {
  if (now >= naps_until_) return 0.0;
  const bool goes_on = now - last_ < between_naps;
  length_ = goes_on ? std::min(longest_nap, 1.25 * length_) : first_nap;
  last_ = now + length_;
  return length_;
}

void YieldPolicy::yielded(double now, double seconds, const std::function<long()>& count_ready) {
  if (seconds > long_yield && count_ready() > most_ready_) naps_until_ = now + naps_last;
}

}  // namespace pptrain

int sched_yield() noexcept {
  using namespace pptrain;
  thread_local YieldPolicy policy(most_ready_of_job());
  const double start = seconds_now();
  if (const double nap = policy.nap(start); nap > 0.0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(nap));
    return 0;
  }
  syscall(SYS_sched_yield);
  const double end = seconds_now();
  policy.yielded(end, end - start, count_ready);
  return 0;
}
