#include "base/signals.hpp"

#include <csignal>

namespace pptrain {
namespace {

/// Room for the registers of the processor (11 KB with AVX-512 and AMX) and a handler that does
/// next to nothing.
constexpr std::size_t stack_bytes = 1 << 16;

void provide_stack() {
  static char memory[stack_bytes];
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = stack_bytes;
  sigaltstack(&stack, nullptr);
}

}  // namespace

void catch_signal(int number, void (*handler)(int), Handle times) {
  provide_stack();
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  if (times == Handle::first) action.sa_flags |= static_cast<int>(SA_RESETHAND);
  sigaction(number, &action, nullptr);
}

void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace pptrain
