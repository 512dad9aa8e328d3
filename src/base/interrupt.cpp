#include "base/interrupt.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <ctime>

#include "base/rewritten_line.hpp"
#include "base/signals.hpp"

namespace pptrain {
namespace {

/// Text that a signal handler can read while another one is written: the handler sees the last one
/// that was whole.
class SignalText {
 public:
  void set(std::string_view text) {
    const int next = 1 - current_.load(std::memory_order_relaxed);
    Slot& slot = slots_[next];
    slot.size = std::min(text.size(), slot.text.size());
    std::copy_n(text.begin(), slot.size, slot.text.begin());
    current_.store(next, std::memory_order_release);
  }
  std::string_view get() const {
    const Slot& slot = slots_[current_.load(std::memory_order_acquire)];
    return {slot.text.data(), slot.size};
  }

 private:
  struct Slot {
    std::array<char, 2048> text;
    std::size_t size = 0;
  };
  std::array<Slot, 2> slots_ = {};
  std::atomic<int> current_ = 0;
};

/// Milliseconds that mean no limit.
constexpr long unlimited = -1;

SignalText reached;
SignalText notice_text;
std::atomic<bool> told = false;  ///< whether this rank prints
std::atomic<bool> on_terminal = false;
std::atomic<bool> held = false;  ///< whether an interrupt is only noted
std::atomic<long> longest_ms = unlimited;
std::atomic<int> first_signal = 0;  ///< that was noted
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<long>::is_always_lock_free &&
                  std::atomic<int>::is_always_lock_free,
              "signal handlers use them");

void write_error(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string_view words_for(int signal) {
  return signal == SIGTERM ? "ended by mpirun " : "interrupted ";
}

/// A line of its own: the terminal has written ^C, maybe behind a line of progress.
void begin_line() { write_error(on_terminal || rewritten_line_open() ? "\n" : ""); }

/// Only calls that a signal handler may make.
[[noreturn]] void end_now(int signal) {
  if (!told) let_others_speak();
  if (told) {
    begin_line();
    write_error("pptrain: ");
    write_error(words_for(signal));
    write_error(reached.get());
    write_error("\n");
  }
  ::_exit(interrupted_exit_code);
}

void start_timer(long milliseconds) {
  itimerval timer = {};
  timer.it_value = {milliseconds / 1000, milliseconds % 1000 * 1000};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

void on_interrupt(int signal) {
  const int error = errno;
  int none = 0;
  if (!held) end_now(signal);
  if (!first_signal.compare_exchange_strong(none, signal)) {
    // mpirun may send SIGTERM for a Ctrl-C that the terminal has sent too.
    if (none == signal) end_now(signal);
    return;
  }
  if (longest_ms != unlimited) start_timer(longest_ms);
  if (told && !notice_text.get().empty()) {
    begin_line();
    write_error(notice_text.get());
    write_error("\n");
  }
  errno = error;
}

void on_time_out(int) { end_now(first_signal); }

}  // namespace

void catch_interrupts(bool prints, Terminate terminate) {
  told = prints;
  on_terminal = ::isatty(STDERR_FILENO) == 1;
  tell_if_interrupted("while starting: nothing was begun");
  catch_signal(SIGALRM, on_time_out);
  catch_signal(SIGINT, on_interrupt);
  if (terminate == Terminate::interrupts) catch_signal(SIGTERM, on_interrupt);
}

void leave_interrupts() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

void tell_if_interrupted(std::string_view what) { reached.set(what); }

void let_others_speak() noexcept {
  const timespec nap = {0, 300'000'000};
  ::nanosleep(&nap, nullptr);
}

bool interrupted() noexcept { return first_signal != 0; }

std::string_view interrupted_by() noexcept { return words_for(first_signal); }

HeldInterrupts::HeldInterrupts(std::optional<std::chrono::milliseconds> longest,
                               std::string_view notice) {
  notice_text.set(notice);
  longest_ms = longest ? static_cast<long>(longest->count()) : unlimited;
  held = longest_ms != 0;
}

HeldInterrupts::~HeldInterrupts() {
  held = false;
  start_timer(0);
}

}  // namespace pptrain
