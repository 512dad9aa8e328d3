#include "runtime/checkpoint/stop_request.hpp"

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
