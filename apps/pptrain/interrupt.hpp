#pragma once

namespace pptrain {

/// While it lives the first Ctrl-C ends searches with the best so far; the second one ends the program.
class InterruptEndsSearch {
 public:
  InterruptEndsSearch();
  ~InterruptEndsSearch();
  InterruptEndsSearch(const InterruptEndsSearch&) = delete;
  InterruptEndsSearch& operator=(const InterruptEndsSearch&) = delete;
};

}  // namespace pptrain
