#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "support/catch.hpp"

namespace pptrain {

/// Runs `work` in a child process, which must not touch MPI or Catch; gives its wait status.
template <class Work>
int in_child(Work work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

/// From now on this process prints nothing. For a child.
inline void hush() {
  if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(99);
}

/// From now on this process cannot make a file longer: as on a full disk, but with EFBIG in place
/// of ENOSPC. For a child.
inline void limit_files(rlim_t bytes) {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {bytes, bytes};
  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(99);
}

}  // namespace pptrain
