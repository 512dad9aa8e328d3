#include "base/screen.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

namespace pptrain {
namespace {

constexpr int least_columns = 40;  // of a table that can still be read

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The width of a terminal in columns; nothing where the descriptor is none.
std::optional<int> columns_of(int descriptor) {
  if (::isatty(descriptor) != 1) return {};
  winsize size = {};
  const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : Screen().columns;
}

/// Columns of the terminal that Open MPI's mpirun writes to: it passes on what its ranks say, who
/// have pipes for that. mpirun is the parent of the ranks on its own host.
std::optional<int> columns_of_launcher(int descriptor) {
  if (environment("OMPI_COMM_WORLD_RANK").empty() ||
      !environment("OMPI_MCA_orte_tag_output").empty())
    return {};
  const std::string path = fmt::format("/proc/{}/fd/{}", ::getppid(), descriptor);
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode)) return {};
  const int opened = ::open(path.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (opened < 0) return {};
  const std::optional<int> columns = columns_of(opened);
  ::close(opened);
  return columns;
}

/// What the variable COLUMNS says; nothing where it is not set, or is no number of columns.
std::optional<int> columns_that_are_said() {
  const std::string said = environment("COLUMNS");
  int columns = 0;
  const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), columns);
  if (error != std::errc() || end != said.data() + said.size() || columns < 1) return {};
  return columns;
}

std::optional<int> columns_for(int descriptor) {
  std::optional<int> columns = columns_that_are_said();
  if (!columns) columns = columns_of(descriptor);
  if (!columns) columns = columns_of_launcher(descriptor);
  if (columns && *columns < least_columns) return least_columns;
  return columns;
}

}  // namespace

Screen standard_error_screen() {
  Screen screen;
  const std::string terminal = environment("TERM");
  if (terminal == "dumb") return screen;
  std::optional<int> columns = columns_of(STDERR_FILENO);
  if (!columns) columns = columns_of_launcher(STDERR_FILENO);
  screen.terminal = columns.has_value();
  screen.columns = columns.value_or(screen.columns);
  screen.colour = screen.terminal && !terminal.empty() && environment("NO_COLOR").empty();
  return screen;
}

std::size_t screen_columns() {
  return static_cast<std::size_t>(columns_for(STDOUT_FILENO).value_or(Screen().columns));
}

std::size_t message_columns() {
  return static_cast<std::size_t>(columns_for(STDERR_FILENO).value_or(0));
}

}  // namespace pptrain
