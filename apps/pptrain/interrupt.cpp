#include "interrupt.hpp"

#include <csignal>

#include "base/signals.hpp"
#include "base/stop.hpp"

namespace pptrain {

InterruptEndsSearch::InterruptEndsSearch() {
  catch_signal(
      SIGINT, [](int) { interrupt_searches(); }, Handle::first);
}

InterruptEndsSearch::~InterruptEndsSearch() { std::signal(SIGINT, SIG_DFL); }

}  // namespace pptrain
