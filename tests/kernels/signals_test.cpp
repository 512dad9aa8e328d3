#include "base/signals.hpp"

#include <sys/time.h>

#include <atomic>
#include <csignal>
#include <vector>

#include "kernels/gemm.hpp"
#include "kernels/test_matrix.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

std::atomic<long> signals = 0;

/// Sends SIGALRM to this process every `microseconds`; 0: no longer.
void alarm_every(int microseconds) {
  const timeval period = {0, microseconds};
  const itimerval timer = {period, period};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

TEST_CASE("signals that come while products are computed leave memory as it is", "[kernels]") {
  catch_signal(SIGALRM, [](int) { signals.fetch_add(1, std::memory_order_relaxed); });
  signals = 0;
  alarm_every(200);
  for (std::size_t round = 0; signals < 500; ++round) {
    const std::size_t m = 64 * (1 + round % 4), n = 64 * (1 + round % 3), k = 64 * (1 + round % 5);
    TestMatrix a(m, k), b(k, n), c(m, n);
    a.randomise(1, 0.0, 1.0);  // all 1
    b.randomise(1, 0.0, 1.0);
    host_gemm().multiply(Transpose::no, a, Transpose::no, b, c, {});
    REQUIRE(c.values() == Values(m * n, static_cast<double>(k)));
  }
  alarm_every(0);
  std::signal(SIGALRM, SIG_DFL);
}
