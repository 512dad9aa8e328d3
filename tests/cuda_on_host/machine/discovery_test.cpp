// The GPUs that ranks find, however the launcher shows them.
#include <fmt/format.h>

#include "comm/mpi.hpp"
#include "probe/discover.hpp"
#include "probe/environment.hpp"
#include "runtime/places/gpu_table.hpp"
#include "runtime/places/machine.hpp"
#include "runtime/places/optimizer_check.hpp"
#include "stand_in.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

using cuda_on_host::Gpu;

constexpr const char* no_nvml = "libpptrain-there-is-none.so.1";

int own_rank() { return rank_in(MPI_COMM_WORLD); }

Discovery found_with(const std::string& nvml) {
  Waiter waiter(600.0, CoreUse::shared);
  const RankDevice device(MPI_COMM_WORLD, waiter, Config());
  REQUIRE(device.probed() != nullptr);
  return discover_cluster(MPI_COMM_WORLD, waiter, device.probed(), nvml);
}

/// Four GPUs of one kind, each rank with its own, in a cluster that is found so.
void check_four_gpus(const Discovery& found) {
  REQUIRE(found.cluster.num_nodes() == 1);
  CHECK(found.cluster.num_devices() == 4);
  CHECK(found.cluster.kind_of(DeviceId(0)).name == "standin");
  CHECK_FALSE(found.cluster.groups.front().shares_cores());
  for (int r = 0; r < 4; ++r) {
    CHECK(found.ranks[r].gpu->info.bus_id == fmt::format("0000:{:02x}:00.0", 3 + r));
    CHECK(found.ranks[r].direct == "NCCL");
  }
  CHECK(found.cluster.bandwidth(DeviceId(0), DeviceId(3)) > 0.0);
  CHECK(found.cluster.groups.front().host_link.bandwidth > 0.0);
  CHECK(found.cluster.device_kinds.front().flops.at("bf16") == Approx(4 * 1e9 * 4096));
  CHECK(found.cluster.device_kinds.front().memory_bandwidth == Approx(128e9));
}

}  // namespace

TEST_CASE("ranks that see one GPU each, all as number 0, have four", "[np4]") {
  cuda_on_host::set_gpus({{.bus = 3 + own_rank()}});
  const Variable variable("PPTRAIN_TEST_NVML",
                          "0000:03:00.0 0000:04:00.0 nvlink; 0000:05:00.0 0000:06:00.0 nvlink;"
                          "0000:03:00.0 0000:05:00.0 50; 0000:03:00.0 0000:06:00.0 50;"
                          "0000:04:00.0 0000:05:00.0 50; 0000:04:00.0 0000:06:00.0 50");
  const Discovery found = found_with(PPTRAIN_NVML_STAND_IN);
  check_four_gpus(found);
  CHECK(found.neighbours[0] == std::map<int, GpuLink>{{1, GpuLink::nvlink},
                                                      {2, GpuLink::through_host},
                                                      {3, GpuLink::through_host}});
  const Variable width("COLUMNS", "160");  // no cell is wrapped
  const std::string table = describe_gpus(found.ranks, found.neighbours);
  CHECK(table.find("0000:06:00.0") != std::string::npos);
  CHECK(table.find("NVLink to 3, through the host to 0-1") != std::string::npos);
}

TEST_CASE("ranks that see all four GPUs take one after another", "[np4]") {
  cuda_on_host::set_gpus({{.bus = 3}, {.bus = 4}, {.bus = 5}, {.bus = 6}});
  cuda_on_host::set_peer_access(1, 1);
  const Discovery found = found_with(no_nvml);
  check_four_gpus(found);
  CHECK(found.neighbours[2].at(0) == GpuLink::nvlink);
  cuda_on_host::set_peer_access(1, 0);
}

TEST_CASE("four ranks that see two GPUs share them and their memory", "[np4]") {
  cuda_on_host::set_gpus({{.bus = 3}, {.bus = 4}});
  cuda_on_host::set_capacity(std::size_t{4} << 30);
  const Discovery found = found_with(no_nvml);
  REQUIRE(found.cluster.num_devices() == 4);
  CHECK(found.cluster.groups.front().cores == 2);
  const double memory = found.cluster.device_kinds.front().memory;  // less than half of 4 GiB less
                                                                    // 1/16
  CHECK(memory <= 2.0 * 0.9375 * 1073741824.0);
  CHECK(memory > 0.85 * 2.0 * 0.9375 * 1073741824.0);
  CHECK(found.neighbours[0].at(2) == GpuLink::same_gpu);
  CHECK(found.neighbours[0].at(1) == GpuLink::pcie);
  const Variable width("COLUMNS", "160");  // no cell is wrapped
  const std::string table = describe_gpus(found.ranks, found.neighbours);
  CHECK(table.find("PCIe to 1, 3") != std::string::npos);
}

TEST_CASE("two kinds of GPUs in one host are two kinds of devices", "[np4]") {
  cuda_on_host::set_gpus({{.name = "NVIDIA A100", .bus = 3, .major = 8},
                          {.name = "NVIDIA A100", .bus = 4, .major = 8},
                          {.name = "Tesla T4", .bus = 5, .major = 7, .minor = 5},
                          {.name = "Tesla T4", .bus = 6, .major = 7, .minor = 5}});
  const Discovery found = found_with(no_nvml);
  REQUIRE(found.cluster.num_nodes() == 2);
  CHECK(found.cluster.kind_of(DeviceId(1)).name == "nvidia-a100");
  CHECK(found.cluster.kind_of(DeviceId(2)).name == "tesla-t4");
  CHECK(found.cluster.kind_of(DeviceId(1)).flops.at("bf16") == Approx(4 * 1e9 * 2048));
  CHECK(found.cluster.bandwidth(DeviceId(0), DeviceId(2)) > 1e6);
}

TEST_CASE("optimizers that compute on the host alone are refused where there are GPUs", "[np4]") {
  cuda_on_host::set_gpus({{.bus = 3 + own_rank()}});
  Waiter waiter(600.0, CoreUse::shared);
  const RankDevice gpu(MPI_COMM_WORLD, waiter, Config());
  Config config;
  for (const std::string name : {"adamw", "sgd", "lion"}) {
    config.optimizer.kind = *optimizer_names().find(name);
    CHECK_NOTHROW(check_optimizer(config, gpu));
  }
  for (const std::string name : {"adafactor", "muon"}) {
    config.optimizer.kind = *optimizer_names().find(name);
    CHECK(complaint_of([&] { check_optimizer(config, gpu); })
              .ends_with("name = \"" + name +
                         "\" where ranks compute with GPUs (its steps are computed on the host "
                         "alone); use [job] device "
                         "= \"host\", or one of adamw, sgd, lion"));
    CHECK_NOTHROW(check_optimizer(config, RankDevice()));
  }
}

TEST_CASE("a job's machine is its GPUs, or the host where it asks for that", "[np4]") {
  cuda_on_host::set_gpus({{.bus = 3 + own_rank()}});
  Waiter waiter(600.0, CoreUse::shared);
  Config config;
  const Machine on_gpus =
      find_machine(MPI_COMM_WORLD, waiter, "discover", RankDevice(MPI_COMM_WORLD, waiter, config));
  CHECK(on_gpus.cluster.device_kinds.front().name == "standin");
  CHECK(describe_machine(on_gpus).find("GPUs\n") != std::string::npos);
  config.job.gpu_transport = GpuTransport::mpi;  // links are measured by way of the host then
  const RankDevice by_mpi(MPI_COMM_WORLD, waiter, config);
  REQUIRE(by_mpi.probed() != nullptr);
  CHECK(by_mpi.probed()->direct == nullptr);
  CHECK(find_machine(MPI_COMM_WORLD, waiter, "discover", by_mpi)
            .cluster.groups.front()
            .link.bandwidth > 1e6);
  config.job.device = DeviceChoice::host;
  const Machine on_host =
      find_machine(MPI_COMM_WORLD, waiter, "discover", RankDevice(MPI_COMM_WORLD, waiter, config));
  CHECK(on_host.cluster.device_kinds.front().name != "standin");
  CHECK(on_host.gpus.empty());
}
