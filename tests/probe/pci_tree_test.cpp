#include "probe/pci_tree.hpp"

#include <sched.h>

#include "probe/environment.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

// Two GPUs below a PCIe switch, one behind a port of its own on the same socket, one on the other
// socket.
constexpr const char* below_switch = "0000:03:00.0";
constexpr const char* beside_it = "0000:04:00.0";
constexpr const char* own_port = "0000:05:00.0";
constexpr const char* other_socket = "0000:81:00.0";

std::string two_sockets() { return source_file("tests/probe/data/two_sockets.xml"); }

/// This thread on the first core alone, while this lives.
class OnFirstCore {
 public:
  OnFirstCore() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    worked_ = sched_setaffinity(0, sizeof(first), &first) == 0;
  }
  ~OnFirstCore() { sched_setaffinity(0, sizeof(before_), &before_); }
  OnFirstCore(const OnFirstCore&) = delete;
  OnFirstCore& operator=(const OnFirstCore&) = delete;

  bool worked() const { return worked_; }

 private:
  cpu_set_t before_;
  bool worked_ = false;
};

}  // namespace

TEST_CASE("GPUs are found on their NUMA nodes") {
  const PciTree tree(two_sockets());
  CHECK(tree.numa_node(below_switch) == 0);
  CHECK(tree.numa_node(own_port) == 0);
  CHECK(tree.numa_node(other_socket) == 1);
  CHECK(tree.numa_node("00000000:81:00.0") == 1);  // as NVML writes it
  CHECK_FALSE(tree.numa_node("0000:99:00.0"));
  CHECK_FALSE(tree.numa_distance("0000:99:00.0"));
  CHECK(tree.numa_distance(other_socket) == 10.0);  // the thread may run anywhere
}

TEST_CASE("a rank that is bound to another socket than its GPU's is far from it") {
  const Variable variable("HWLOC_THISSYSTEM", "1");
  const OnFirstCore bound;
  if (!bound.worked()) {
    WARN("this thread may not run on core 0: not tested");
    return;
  }
  const PciTree tree(two_sockets());
  CHECK(tree.numa_distance(below_switch) == 10.0);
  CHECK(tree.numa_distance(other_socket) == 21.0);
}

TEST_CASE("bridges tell which GPUs a PCIe switch joins") {
  const PciTree tree(two_sockets());
  CHECK(tree.link(below_switch, beside_it) == GpuLink::pcie);
  CHECK(tree.link(beside_it, below_switch) == GpuLink::pcie);
  CHECK(tree.link(below_switch, own_port) == GpuLink::through_host);
  CHECK(tree.link(own_port, other_socket) == GpuLink::through_host);
  CHECK_FALSE(tree.link(below_switch, "0000:99:00.0"));
}
