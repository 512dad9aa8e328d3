#include "cluster/peak_rate.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

Cluster hosts_and_gpus(int num_gpus) {
  Cluster cluster;
  cluster.device_kinds = {{"cpu", 1e9, {{"fp32", 1e9}, {"bf16", 2e9}}, 0.0},
                          {"gpu", 1e9, {{"bf16", 1e12}}, 0.0}};
  NodeGroup hosts;
  hosts.device_kind = "cpu";
  hosts.count = 2;
  hosts.num_devices = 4;
  hosts.cores = 2;  // shared by four devices
  hosts.link = hosts.uplink = {1e9, 1e-6};
  cluster.groups = {hosts};
  if (num_gpus > 0) {
    cluster.groups.push_back(hosts);
    cluster.groups[1].device_kind = "gpu";
    cluster.groups[1].count = 1;
    cluster.groups[1].num_devices = num_gpus;
    cluster.groups[1].cores = 0;
  }
  cluster.finish("made");
  return cluster;
}

TEST_CASE("the peak of devices is that of their cores in a precision, or not known", "[cluster]") {
  const Cluster hosts = hosts_and_gpus(0);
  const std::vector<bool> all(8, true);
  CHECK(peak_flop_rate(hosts, all, "fp32") == 2 * 2 * 1e9);
  CHECK(peak_flop_rate(hosts, all, "bf16") == 2 * 2 * 2e9);
  CHECK(peak_flop_rate(hosts, all, "fp16") == 0.0);
  const Cluster both = hosts_and_gpus(3);
  CHECK(peak_flop_rate(both, std::vector<bool>(11, true), "bf16") == 2 * 2 * 2e9 + 3 * 1e12);
  CHECK(peak_flop_rate(both, std::vector<bool>(11, true), "fp32") == 0.0);  // the GPU's is not
                                                                            // known
}

TEST_CASE("devices that are not used leave their cores to the others", "[cluster]") {
  const Cluster both = hosts_and_gpus(3);
  // One, three and none of four devices on two cores, then GPUs.
  std::vector<bool> used = {true, false, false, false, true, true,
                            true, false, false, false, false};
  CHECK(used_core_sharers(both, used) == std::vector<int>{1, 3, 0});
  CHECK(peak_flop_rates(both, used, "fp32") ==
        std::vector<double>{1e9, 0, 0, 0, 1e9 * 2 / 3, 1e9 * 2 / 3, 1e9 * 2 / 3, 0, 0, 0, 0});
  CHECK(peak_flop_rate(both, used, "fp32") == Approx(3e9));  // the GPUs', not known, do not matter
}

TEST_CASE("nodes of a pool share its cores", "[cluster]") {
  Cluster cluster = hosts_and_gpus(0);
  cluster.groups[0].core_pool = "host";
  cluster.finish("made");
  const std::vector<bool> used = {true, false, false, false, true, true, true, false};
  CHECK(used_core_sharers(cluster, used) == std::vector<int>{4, 4});
  CHECK(peak_flop_rate(cluster, used, "fp32") == 2e9);
}

}  // namespace
}  // namespace pptrain
