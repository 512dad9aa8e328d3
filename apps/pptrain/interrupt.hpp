#pragma once

#include <csignal>

namespace pptrain {

/// While it lives the first Ctrl-C ends searches with the best so far; the second one does what it
/// did before.
class InterruptEndsSearch {
 public:
  InterruptEndsSearch();
  ~InterruptEndsSearch();
  InterruptEndsSearch(const InterruptEndsSearch&) = delete;
  InterruptEndsSearch& operator=(const InterruptEndsSearch&) = delete;

 private:
  struct sigaction before_ = {};
};

}  // namespace pptrain
