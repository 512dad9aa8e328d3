#include "probe/socket.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "probe/topology.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

/// Sets the processors of all threads, MPI's too, as a launcher does.
void set_processors(const cpu_set_t& set) {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    REQUIRE(sched_setaffinity(std::stoi(thread.path().filename()), sizeof(set), &set) == 0);
  }
}

std::optional<int> socket_on(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(processor, &set);
  set_processors(set);
  return Topology().own_socket();
}

}  // namespace

TEST_CASE("a process knows its socket where it is bound to one of several") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof(before), &before) == 0);
  std::vector<int> processors;
  for (int p = 0; p < CPU_SETSIZE; ++p) {
    if (CPU_ISSET(p, &before)) processors.push_back(p);
  }
  if (processors.size() < 2) {
    WARN("skipped: this process may use one processor only");
    return;
  }
  const int first = processors.front();
  const int last = processors.back();
  // hwloc is told of two sockets, the second of which begins with the last processor; binding is
  // this system's.
  setenv("HWLOC_SYNTHETIC", fmt::format("package:2 pu:{}", last).c_str(), 1);
  setenv("HWLOC_THISSYSTEM", "1", 1);
  CHECK(socket_on({first}) == 0);
  CHECK(socket_on({last}) == 1);
  CHECK_FALSE(socket_on({first, last}).has_value());
  setenv("HWLOC_SYNTHETIC", fmt::format("package:1 pu:{}", last + 1).c_str(), 1);
  CHECK_FALSE(socket_on({first}).has_value());
  unsetenv("HWLOC_SYNTHETIC");
  unsetenv("HWLOC_THISSYSTEM");
  set_processors(before);
}

TEST_CASE("devices of a host are numbered socket by socket where ranks are bound") {
  // As `mpirun --map-by socket` places them, and a rank of another host between.
  CHECK(socket_by_socket({0, 1, 3, 4}, {0, 1, std::nullopt, 0, 1}) == std::vector<int>{0, 3, 1, 4});
  CHECK(socket_by_socket({0, 1, 2}, {std::nullopt, std::nullopt, std::nullopt}) ==
        std::vector<int>{0, 1, 2});
}
