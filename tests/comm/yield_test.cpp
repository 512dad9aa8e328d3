// Ranks sleep instead of yielding beside programs that compute all the time.
#include "comm/yield.hpp"

#include <dlfcn.h>
#include <sched.h>

#include "support/catch.hpp"

using namespace pptrain;

namespace {

constexpr long ranks = 4;
long nobody_else() { return ranks; }
long somebody_else() { return ranks + 1; }

}  // namespace

TEST_CASE("a rank naps after a long yield beside others, until the naps have lasted", "[np2]") {
  YieldPolicy policy(ranks);
  CHECK(policy.nap(1.0) == 0.0);
  policy.yielded(1.0, 1e-3, somebody_else);  // short
  policy.yielded(1.0, 5e-3, nobody_else);    // the job's own ranks
  CHECK(policy.nap(1.0) == 0.0);
  policy.yielded(1.0, 5e-3, somebody_else);
  CHECK(policy.nap(1.01) == Approx(20e-6));
  CHECK(policy.nap(1.99) > 0.0);
  CHECK(policy.nap(2.01) == 0.0);
}

TEST_CASE("naps grow within a wait and begin anew with the next one", "[np2]") {
  YieldPolicy policy(ranks);
  policy.yielded(1.0, 5e-3, somebody_else);
  double now = 1.0, last = 0.0;
  for (int i = 0; i < 20; ++i) {
    const double nap = policy.nap(now);
    CHECK(nap >= last);
    CHECK(nap <= 200e-6);
    last = nap;
    now += nap + 3e-6;
  }
  CHECK(last == Approx(200e-6));
  CHECK(policy.nap(now + 1e-3) == Approx(20e-6));
}

TEST_CASE("Open MPI yields by the function of this program", "[np2]") {
  // What libraries find under the name is what their calls reach.
  CHECK(dlsym(RTLD_DEFAULT, "sched_yield") == reinterpret_cast<void*>(&sched_yield));
  Dl_info found{};
  REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "sched_yield"), &found) != 0);
  CHECK(std::string(found.dli_fname).find("test_comm") != std::string::npos);
}
