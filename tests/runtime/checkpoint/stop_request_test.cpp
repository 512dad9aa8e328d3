#include "runtime/checkpoint/stop_request.hpp"

#include <string>

#include "base/interrupt.hpp"
#include "support/catch.hpp"
#include "support/child.hpp"

using namespace pptrain;

TEST_CASE("a stop that has been followed is not asked for again", "[np1]") {
  const int status = in_child([] {
    catch_stop_signals(false);
    leave_interrupts();  // SIGTERM ends the program again, as where main() has the stop as an error
    ignore_stop_signals();
    ::raise(SIGTERM);
    ::raise(SIGUSR1);
  });
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("what saves nothing is ended by the signals again", "[np1]") {
  const int status = in_child([] {
    catch_stop_signals(false);
    leave_stop_signals();
    ::raise(SIGTERM);
  });
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM));
}

TEST_CASE("a rank whose time ends a moment after that of another one knows why that one stops",
          "[np1]") {
  JobConfig job;
  job.time_limit = 100.0;
  StopRequest stop(job);
  CHECK(stop.reason() == std::string("another rank asked for it"));
  stop.need(99.5);
  CHECK(stop.wish() == StopWish::none);
  CHECK(stop.reason() == std::string("the time is almost over"));
  stop.need(101.0);
  CHECK(stop.wish() == StopWish::requested);
}
