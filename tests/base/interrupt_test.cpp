#include "base/interrupt.hpp"

#include <unistd.h>

#include <csignal>

#include "base/in_process.hpp"

using namespace pptrain;

TEST_CASE("an interrupt ends the program with what it reached", "[base]") {
  const Ended ended = in_process([] {
    catch_interrupts(true, Terminate::interrupts);
    tell_if_interrupted("after step 3 of 5");
    std::raise(SIGINT);
  });
  CHECK(ended.code == interrupted_exit_code);
  CHECK(ended.said == "pptrain: interrupted after step 3 of 5\n");
}

TEST_CASE("only the rank that prints says so", "[base]") {
  const Ended ended = in_process([] {
    catch_interrupts(false, Terminate::interrupts);
    std::raise(SIGTERM);
  });
  CHECK(ended.code == interrupted_exit_code);
  CHECK(ended.said.empty());
}

TEST_CASE("a held interrupt is noted, and the second one ends the program", "[base]") {
  const auto hold = [](int second) {
    return in_process([second] {
      catch_interrupts(true, Terminate::interrupts);
      tell_if_interrupted("here");
      const HeldInterrupts held({}, "wait");
      if (interrupted()) ::_exit(3);
      std::raise(SIGINT);
      if (!interrupted()) ::_exit(4);
      std::raise(second);
    });
  };
  const Ended twice = hold(SIGINT);
  CHECK(twice.code == interrupted_exit_code);
  CHECK(twice.said == "wait\npptrain: interrupted here\n");
  // mpirun's SIGTERM beside the terminal's SIGINT is no second Ctrl-C.
  const Ended beside = hold(SIGTERM);
  CHECK(beside.code == 0);
  CHECK(beside.said == "wait\n");
}

TEST_CASE("a held interrupt ends the program when it takes too long", "[base]") {
  const Ended ended = in_process([] {
    catch_interrupts(true, Terminate::interrupts);
    tell_if_interrupted("here");
    const HeldInterrupts held(std::chrono::milliseconds(1));
    std::raise(SIGTERM);
    for (;;) ::pause();
  });
  CHECK(ended.code == interrupted_exit_code);
  CHECK(ended.said == "pptrain: ended by mpirun here\n");
}

TEST_CASE("where there is no time an interrupt is not held", "[base]") {
  const Ended ended = in_process([] {
    catch_interrupts(true, Terminate::interrupts);
    tell_if_interrupted("here");
    const HeldInterrupts held(std::chrono::milliseconds(0));
    std::raise(SIGTERM);
  });
  CHECK(ended.code == interrupted_exit_code);
  CHECK(ended.said == "pptrain: ended by mpirun here\n");
}
