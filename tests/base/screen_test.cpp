#include "base/screen.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>

#include "base/in_process.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Variables of the environment in a process, where all others that tell of a screen are not set.
using Variables = std::map<std::string, std::string>;

void set_variables(const Variables& variables) {
  for (const char* name :
       {"COLUMNS", "NO_COLOR", "TERM", "OMPI_COMM_WORLD_RANK", "OMPI_MCA_orte_tag_output"})
    ::unsetenv(name);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
}

/// Makes a descriptor of this process a terminal.
void make_terminal(int descriptor, unsigned short columns) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) ::_exit(99);
  const winsize size = {24, columns, 0, 0};
  ::ioctl(terminal, TIOCSWINSZ, &size);
  const int end = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  if (end < 0 || ::dup2(end, descriptor) < 0) ::_exit(99);
}

/// What standard error is, in words, to standard output.
void print_screen() {
  const Screen screen = standard_error_screen();
  fmt::print("{}{}{} columns, messages {}", screen.terminal ? "terminal " : "",
             screen.colour ? "in colour " : "", screen.columns, message_columns());
}

std::string on_terminal(unsigned short columns, const Variables& variables) {
  return in_process([&] {
           set_variables(variables);
           make_terminal(STDERR_FILENO, columns);
           print_screen();
         })
      .printed;
}

std::string in_file(const Variables& variables) {
  return in_process([&] {
           set_variables(variables);
           print_screen();
         })
      .printed;
}

TEST_CASE("progress is shown in colour and as wide as the terminal is", "[base]") {
  CHECK(on_terminal(120, {{"TERM", "xterm"}}) == "terminal in colour 120 columns, messages 120");
  CHECK(on_terminal(120, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}) ==
        "terminal 120 columns, messages 120");
  CHECK(on_terminal(120, {{"TERM", "xterm"}, {"NO_COLOR", ""}}) ==
        "terminal in colour 120 columns, messages 120");  // as no-color.org has it
  CHECK(on_terminal(120, {{"TERM", "dumb"}}) == "80 columns, messages 120");
  CHECK(on_terminal(120, {{"TERM", "xterm"}, {"COLUMNS", "100"}}) ==
        "terminal in colour 120 columns, messages 100");
}

TEST_CASE("messages to a program are in one line, unless COLUMNS says otherwise", "[base]") {
  CHECK(in_file({{"TERM", "xterm"}}) == "80 columns, messages 0");
  CHECK(in_file({{"TERM", "xterm"}, {"COLUMNS", "100"}}) == "80 columns, messages 100");
  CHECK(in_file({{"COLUMNS", "wide"}}) == "80 columns, messages 0");
}

TEST_CASE("what a rank says to mpirun is as wide as the terminal of that", "[base]") {
  const auto of_rank = [](const Variables& variables) {
    return in_process([&] {
             set_variables(variables);
             make_terminal(STDERR_FILENO, 120);
             const pid_t rank = ::fork();
             if (rank == 0) {
               ::close(STDERR_FILENO);
               if (::open("/dev/null", O_WRONLY) != STDERR_FILENO) ::_exit(99);
               print_screen();
               std::fflush(stdout);
               ::_exit(0);
             }
             ::waitpid(rank, nullptr, 0);
           })
        .printed;
  };
  CHECK(of_rank({{"OMPI_COMM_WORLD_RANK", "1"}}) == "terminal 120 columns, messages 120");
  CHECK(of_rank({}) == "80 columns, messages 0");
}

TEST_CASE("text on standard output takes what COLUMNS says, else the terminal, else 80", "[base]") {
  const auto columns_of_output = [](unsigned short terminal, const Variables& variables) {
    return in_process([&] {
             set_variables(variables);
             if (terminal > 0) make_terminal(STDOUT_FILENO, terminal);
             fmt::print(stderr, "{}", screen_columns());
           })
        .said;
  };
  CHECK(columns_of_output(120, {}) == "120");
  CHECK(columns_of_output(120, {{"COLUMNS", "100"}}) == "100");
  CHECK(columns_of_output(0, {{"COLUMNS", "100"}}) == "100");
  CHECK(columns_of_output(0, {}) == "80");
  CHECK(columns_of_output(120, {{"COLUMNS", "0"}}) == "120");
}

TEST_CASE("text has 40 columns where COLUMNS or the terminal has fewer", "[base]") {
  const auto columns_of_output = [](unsigned short terminal, const Variables& variables) {
    return in_process([&] {
             set_variables(variables);
             if (terminal > 0) make_terminal(STDOUT_FILENO, terminal);
             fmt::print(stderr, "{}", screen_columns());
           })
        .said;
  };
  CHECK(columns_of_output(120, {{"COLUMNS", "20"}}) == "40");
  CHECK(columns_of_output(20, {}) == "40");
  CHECK(in_file({{"COLUMNS", "20"}}) == "80 columns, messages 40");
}

}  // namespace
}  // namespace pptrain
