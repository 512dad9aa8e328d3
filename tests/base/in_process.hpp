#pragma once

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/catch.hpp"

namespace pptrain {

/// How a process ended, and what it wrote.
struct Ended {
  int code = -1;        ///< -1: a signal ended it
  int signal = 0;       ///< that one
  std::string printed;  ///< to standard output
  std::string said;     ///< to standard error
};

/// All of a temporary file, which is closed.
inline std::string taken_text(std::FILE* file) {
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

/// Runs `work`, which must not touch Catch, in a process of its own that ends with code 0 after it.
/// Nobody tells that process how wide its messages may be.
template <class Work>
Ended in_process(const Work& work) {
  std::FILE* printed = std::tmpfile();
  std::FILE* said = std::tmpfile();
  REQUIRE((printed != nullptr && said != nullptr));
  std::fflush(nullptr);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // else Catch tells of it
    ::unsetenv("COLUMNS");
    ::dup2(::fileno(printed), STDOUT_FILENO);
    ::dup2(::fileno(said), STDERR_FILENO);
    work();
    std::fflush(nullptr);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          taken_text(printed), taken_text(said)};
}

/// From here on this process, which is one of `in_process`, can start no thread.
inline void refuse_threads() {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, std::size_t{1} << 46);  // no machine has such a stack
  if (::pthread_setattr_default_np(&attributes) != 0) ::_exit(99);
}

}  // namespace pptrain
