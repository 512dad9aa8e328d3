#include <numeric>

#include "base/timing.hpp"
#include "comm/mpi.hpp"
#include "probe/core_pools.hpp"
#include "probe/discover.hpp"
#include "probe/found_cluster.hpp"
#include "probe/message_costs.hpp"
#include "probe/peak_rates.hpp"
#include "support/catch.hpp"

using namespace pptrain;

TEST_CASE("a device kind is named after its CPU") {
  CHECK(device_kind_name("AMD EPYC 7763 64-Core Processor") == "amd-epyc-7763-64core-processor");
  CHECK(device_kind_name("Intel(R) Xeon(R) Gold  6248") == "intelr-xeonr-gold-6248");
  CHECK(device_kind_name("") == "cpu");
}

TEST_CASE("a host report survives its JSON form") {
  const HostReport report = report_host();
  CHECK_FALSE(report.cores.empty());
  CHECK(report.memory_bytes > 1e8);
  const HostReport copy = host_report_from_json(to_json(report));
  CHECK(copy.name == report.name);
  CHECK(copy.kernel == report.kernel);
  CHECK(copy.cores == report.cores);
  CHECK(copy.cpu_model == report.cpu_model);
  CHECK(copy.memory_bytes == report.memory_bytes);
  CHECK(copy.sockets == report.sockets);
  CHECK(copy.socket == report.socket);
  HostReport bound = report;
  bound.socket = 1;
  bound.switches = {"spine", "leaf1"};
  CHECK(host_report_from_json(to_json(bound)).socket == 1);
  CHECK(host_report_from_json(to_json(bound)).switches == bound.switches);
}

TEST_CASE("what messages, waits and copies cost follows from exchanges") {
  // 4 us a message, 30 us a wait, 8e9 bytes a second: exactly what three exchanges say, a little
  // more and less on two ranks.
  const auto exchange = [](int messages, double bytes) {
    return messages * (4e-6 + bytes / 8e9) + 30e-6;
  };
  constexpr int many = ExchangeSeconds::many_messages;
  constexpr double few_bytes = ExchangeSeconds::short_bytes;
  const ExchangeSeconds exact = {exchange(1, few_bytes), exchange(many, few_bytes),
                                 exchange(many, ExchangeSeconds::large_bytes)};
  std::vector<ExchangeSeconds> ranks(2, exact);
  ranks[0].many += 1e-6;
  ranks[1].many -= 1e-6;
  const MessageCosts costs = message_costs(ranks);
  CHECK(costs.core_seconds.message == Approx(4e-6));
  CHECK(costs.core_seconds.wait == Approx(30e-6));
  CHECK(costs.copy_bandwidth == Approx(8e9));
  // Over a network the short ones are all there are.
  const CoreSeconds over_network = message_costs({{5e-5, 12e-5, 12e-5}}).core_seconds;
  CHECK(over_network.message == Approx(1e-5));
  CHECK(over_network.wait == Approx(4e-5));
  // Noise that says otherwise gives no negative cost.
  const MessageCosts odd = message_costs({{5e-5, 4e-5, 3e-5}});
  CHECK(odd.core_seconds.message >= 0.0);
  CHECK(odd.core_seconds.wait >= 0.0);
}

TEST_CASE("a processor's rates are measured by one rank, and known to all", "[np4]") {
  Waiter waiter(600.0, CoreUse::shared);
  int calls = 0;
  const PeakRates rates = {{{"fp32", 1e9}, {"bf16", 3e9}, {"fp16", 2e9}}, 4e9};
  const FindPeakRates find = [&] {
    ++calls;
    return rates;
  };
  const Discovery found = discover_cluster(MPI_COMM_WORLD, waiter, nullptr, Nvml::usual_name, find);
  CHECK(calls == (rank_in(MPI_COMM_WORLD) == 0 ? 1 : 0));
  for (int d = 0; d < 4; ++d) {
    CHECK(found.cluster.kind_of(DeviceId(d)).flops == rates.flops);
    CHECK(found.cluster.kind_of(DeviceId(d)).memory_bandwidth == rates.memory_bandwidth);
  }
}

TEST_CASE("what a processor multiplies in fp32 has no lower rate than fp32") {
  const PeakRates rates = measure_peak_rates();
  CHECK(rates.flops.at("fp32") > 1e8);
  CHECK(rates.flops.at("bf16") >= rates.flops.at("fp32"));
  CHECK(rates.flops.at("fp16") >= rates.flops.at("fp32"));
  CHECK(rates.memory_bandwidth > 1e7);
  CHECK(peak_rates_key() == peak_rates_key());
}

TEST_CASE("four ranks of one host are found as four devices of one node", "[np4]") {
  Waiter waiter(600.0, CoreUse::shared);
  const double start = wall_seconds();
  const Discovery found = discover_cluster(MPI_COMM_WORLD, waiter);
  const double seconds = wall_seconds() - start;
  CHECK(found.cluster.num_devices() == 4);
  CHECK(found.cluster.num_nodes() == 1);
  CHECK(found.rank_of_device == std::vector<RankId>{RankId(0), RankId(1), RankId(2), RankId(3)});
  // What was sent, 8 MiB, was there before all was found; and no memory does 100 TB/s.
  CHECK(found.cluster.bandwidth(DeviceId(0), DeviceId(3)) > (8 << 20) / seconds);
  CHECK(found.cluster.bandwidth(DeviceId(0), DeviceId(3)) < 1e14);
  CHECK(found.cluster.kind_of(DeviceId(0)).flops.at("fp32") > 1e9);
  const int cores = find_core_pools(MPI_COMM_WORLD, waiter).front().num_cores;
  CHECK(found.cluster.groups.front().cores == (cores < 4 ? cores : 0));
  // A message and a wait take between a few system calls and a scheduler's slices.
  const CoreSeconds& each = found.cluster.groups.front().core_seconds;
  CHECK((each.message + each.wait > 1e-6) == (cores < 4));
  CHECK(each.message + each.wait < 1e-2);
}
