#include "interrupt.hpp"

#include <csignal>

#include "base/stop.hpp"

namespace pptrain {

InterruptEndsSearch::InterruptEndsSearch() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupt_searches(); };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
}

InterruptEndsSearch::~InterruptEndsSearch() { std::signal(SIGINT, SIG_DFL); }

}  // namespace pptrain
