// tests/kernels/signals_test.cpp holds that a handler leaves products of matrices as they are.
#include "base/signals.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/in_process.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

volatile std::sig_atomic_t times_caught = 0;
int ends_of_pipe[2] = {};

void count_signal(int) { times_caught = times_caught + 1; }

/// Writes a letter, in a handler too.
void write_letter(int descriptor, char letter) {
  [[maybe_unused]] const ssize_t ignored = ::write(descriptor, &letter, 1);
}

TEST_CASE("a handler is called for every signal, or for the first one", "[base]") {
  const auto raise_twice = [](Handle times) {
    return in_process([&] {
      catch_signal(
          SIGUSR1, [](int) { write_letter(STDOUT_FILENO, 'x'); }, times);
      std::raise(SIGUSR1);
      std::raise(SIGUSR1);
    });
  };
  const Ended every = raise_twice(Handle::every);
  CHECK((every.code == 0 && every.printed == "xx"));
  const Ended first = raise_twice(Handle::first);
  CHECK((first.signal == SIGUSR1 && first.printed == "x"));
}

TEST_CASE("a handler has a stack of its own", "[base]") {
  const Ended ended = in_process([] {
    catch_signal(SIGUSR1, [](int) {
      stack_t stack = {};
      ::sigaltstack(nullptr, &stack);
      const bool is_apart = (stack.ss_flags & SS_ONSTACK) != 0;
      write_letter(STDOUT_FILENO, is_apart ? 'a' : 's');
    });
    std::raise(SIGUSR1);
  });
  CHECK(ended.printed == "a");
}

TEST_CASE("system calls go on after a signal", "[base]") {
  // The third signal brings what is waited for; the ones before it come while nothing is there.
  const Ended ended = in_process([] {
    if (::pipe(ends_of_pipe) != 0) ::_exit(99);
    times_caught = 0;
    catch_signal(SIGALRM, [](int number) {
      count_signal(number);
      if (times_caught == 3) write_letter(ends_of_pipe[1], 'x');
    });
    const timeval period = {0, 2000};
    const itimerval timer = {period, period};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
    char byte = 0;
    if (::read(ends_of_pipe[0], &byte, 1) != 1) ::_exit(1);
    ::_exit(times_caught >= 3 ? 0 : 2);
  });
  CHECK(ended.code == 0);
}

TEST_CASE("a thread that blocks signals leaves them to the main one", "[base]") {
  const Ended ended = in_process([] {
    times_caught = 0;
    catch_signal(SIGUSR1, count_signal);
    bool is_pending = false;
    std::thread([&] {
      block_signals();
      ::pthread_kill(::pthread_self(), SIGUSR1);
      sigset_t pending = {};
      ::sigpending(&pending);
      is_pending = ::sigismember(&pending, SIGUSR1) == 1;
    }).join();
    if (!is_pending || times_caught != 0) ::_exit(1);
    std::raise(SIGUSR1);
    if (times_caught != 1) ::_exit(2);
  });
  CHECK(ended.code == 0);
}

}  // namespace
}  // namespace pptrain
