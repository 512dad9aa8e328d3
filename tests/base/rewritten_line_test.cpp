#include "base/rewritten_line.hpp"

#include <fstream>
#include <iterator>

#include "base/in_process.hpp"
#include "base/log.hpp"
#include "data/files.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// What stands on a terminal that this was written to: it knows how to begin a line, how to go back
/// to the start of one, and how to clear the rest of it.
std::string terminal_after(const std::string& bytes) {
  const std::string clear = "\033[K";
  std::string above, line;
  std::size_t column = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\n') {
      above += line + "\n";
      line.clear();
      column = 0;
    } else if (bytes[i] == '\r') {
      column = 0;
    } else if (bytes.compare(i, clear.size(), clear) == 0) {
      line.resize(column);
      i += clear.size() - 1;
    } else {
      line.replace(column++, 1, 1, bytes[i]);
    }
  }
  return above + line;
}

template <class Work>
std::string terminal_of(const Work& work) {
  return terminal_after(in_process(work).said);
}

TEST_CASE("a line takes the place of the last one, and what is said that of both", "[base]") {
  CHECK(terminal_of([] {
          rewrite_line("step 1, a long line");
          rewrite_line("step 2");
        }) == "step 2");
  const auto log_between = [] {
    rewrite_line("step 1, a long line");
    log_warning("slow");
    rewrite_line("step 2");
    print_result("done\n");
  };
  CHECK(terminal_of(log_between) == "pptrain: warning: slow\n");
  CHECK(in_process(log_between).printed == "done\n");
}

TEST_CASE("what is not shown leaves the line as it stands", "[base]") {
  CHECK(terminal_of([] {
          rewrite_line("step 1");
          log_debug("a part");
        }) == "step 1");
  CHECK(terminal_of([] {
          set_verbosity(Verbosity::quiet);
          rewrite_line("step 1");
          log_info("an info");
          print_step("a step\n");
        }) == "step 1");
}

TEST_CASE("a line is left as it stands or taken away, once", "[base]") {
  CHECK(terminal_of([] {
          rewrite_line("step 1");
          end_rewritten_line();
          end_rewritten_line();
          rewrite_line("step 2");
        }) == "step 1\nstep 2");
  CHECK(terminal_of([] {
          rewrite_line("step 1");
          clear_rewritten_line();
          end_rewritten_line();
          clear_rewritten_line();
        }).empty());
}

TEST_CASE("whether there is such a line is known", "[base]") {
  const Ended ended = in_process([] {
    const auto tell = [] { std::fputs(rewritten_line_open() ? "yes " : "no ", stdout); };
    tell();
    rewrite_line("step 1");
    tell();
    end_rewritten_line();
    tell();
    rewrite_line("step 2");
    clear_rewritten_line();
    tell();
    rewrite_line("step 3");
    log_warning("slow");
    tell();
  });
  CHECK(ended.printed == "no yes no no no ");
}

TEST_CASE("what stands in such a line goes to the log file alone", "[base]") {
  const TestFolder folder("rewritten_line");
  const Ended ended = in_process([&] {
    add_log_file(folder.path("log"));
    log_to_file("step 1 of 9");
  });
  CHECK((ended.said.empty() && ended.printed.empty()));
  std::ifstream file(folder.path("log"));
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == "step 1 of 9\n");
}

}  // namespace
}  // namespace pptrain
