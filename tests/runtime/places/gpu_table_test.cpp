#include "runtime/places/gpu_table.hpp"

#include <cstdlib>

#include "cuda/presence.hpp"
#include "probe/fake_gpus.hpp"
#include "runtime/places/rank_device.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace pptrain;
using namespace pptrain::test;

TEST_CASE("a table says which rank computes with which GPU", "[np1]") {
  HostReport host;
  host.name = "n1";
  std::vector<RankHost> ranks = {{0, host, fake_gpu("NVIDIA H100", 3, 80)},
                                 {0, host, fake_gpu("NVIDIA H100", 3, 80)},
                                 {0, host, fake_gpu("Tesla T4", 0x81, 16)},
                                 {0, host}};
  ranks[0].gpu->numa_node = 0;
  ranks[0].gpu->numa_distance = 10.0;
  ranks[2].gpu->numa_node = 1;
  ranks[2].gpu->numa_distance = 21.0;
  const GpuNeighbours neighbours = {{{1, GpuLink::same_gpu}, {2, GpuLink::through_host}},
                                    {{0, GpuLink::same_gpu}, {2, GpuLink::through_host}},
                                    {{0, GpuLink::through_host}, {1, GpuLink::through_host}},
                                    {}};
  ::setenv("COLUMNS", "200", 1);
  const std::string table = describe_gpus(ranks, neighbours);
  ::unsetenv("COLUMNS");
  CHECK("\n" + table == R"(
GPUs
  rank  host  GPU             bus           free memory         NUMA node        links to ranks           shared with
  0     n1    NVIDIA H100     0000:03:00.0  79.5 GiB of 80 GiB  0                through the host to 2    1
  1     n1    NVIDIA H100     0000:03:00.0  79.5 GiB of 80 GiB  -                through the host to 2    0
  2     n1    Tesla T4        0000:81:00.0  15.5 GiB of 16 GiB  1 (distance 21)  through the host to 0-1  -
  3     n1    none: the host  -             -                   -                -                        -
)");
  CHECK(describe_gpus({{0, host}, {0, host}}, {{}, {}}).empty());
}

TEST_CASE("a host with a driver says why its GPUs are not used, one without says nothing",
          "[np1]") {
  CHECK(why_gpus_are_unused("/nonexistent/driver/version").empty());
  CHECK(why_gpus_are_unused(source_file("README.md")) == why_no_gpu());
}
