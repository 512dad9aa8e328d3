#include "interrupt.hpp"

#include "base/signals.hpp"
#include "base/stop.hpp"

namespace pptrain {
namespace {

/// What the second Ctrl-C is left to.
struct sigaction after_first = {};

void on_first(int /*signal*/) {
  interrupt_searches();
  sigaction(SIGINT, &after_first, nullptr);
}

}  // namespace

InterruptEndsSearch::InterruptEndsSearch() {
  sigaction(SIGINT, nullptr, &before_);
  after_first = before_;
  catch_signal(SIGINT, on_first);
}

InterruptEndsSearch::~InterruptEndsSearch() { sigaction(SIGINT, &before_, nullptr); }

}  // namespace pptrain
