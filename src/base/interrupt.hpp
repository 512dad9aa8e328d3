#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace pptrain {

/// Exit code of a program that Ctrl-C ended, as shells have it: 128 and the number of SIGINT.
constexpr int interrupted_exit_code = 130;

/// Thrown where a program ends itself, everything saved, because of an interrupt that was held. On
/// all ranks.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What SIGTERM is to this process: left to others, or what mpirun sends in place of Ctrl-C.
enum class Terminate { elsewhere, interrupts };

/// From now on Ctrl-C (SIGINT) ends the program with exit code 130 and, where `prints`, with the
/// line that `tell_if_interrupted` was given last; so does SIGTERM where it `interrupts`. Call on
/// the main thread, before threads are started.
void catch_interrupts(bool prints, Terminate terminate);

/// Lets interrupts end the program without a word again: for when it ends with one of its own.
void leave_interrupts();

/// What an interrupt says from now on, behind "pptrain: interrupted ": what was reached, and how to
/// go on.
void tell_if_interrupted(std::string_view reached);

/// A moment in which other ranks of the job can say something. A rank that says nothing waits it
/// out before it ends by an interrupt: once a rank has ended mpirun kills the others. May be called
/// in a signal handler.
void let_others_speak() noexcept;

/// Whether an interrupt came while they were held, that is whether the program should end soon.
bool interrupted() noexcept;

/// What the program says of itself when it ends for a held interrupt: "interrupted ", or "ended by
/// mpirun ".
std::string_view interrupted_by() noexcept;

/// While it lives the first interrupt is only noted, so that the program can end by itself with
/// everything saved; the second of the same kind ends it as before. One at a time.
class HeldInterrupts {
 public:
  /// A program that has not ended `longest` after an interrupt ends as before; none: it takes its
  /// time; 0: no interrupt is held. `notice` is written when the interrupt comes; empty: nothing.
  explicit HeldInterrupts(std::optional<std::chrono::milliseconds> longest,
                          std::string_view notice = "");
  ~HeldInterrupts();
  HeldInterrupts(const HeldInterrupts&) = delete;
  HeldInterrupts& operator=(const HeldInterrupts&) = delete;
};

}  // namespace pptrain
