#include "cluster/peak_rate.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("the peak of a cluster is that of its devices in a precision, or not known",
          "[cluster]") {
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
  cluster.finish("made");
  CHECK(peak_flop_rate(cluster, "fp32") == 2 * 2 * 1e9);
  CHECK(peak_flop_rate(cluster, "bf16") == 2 * 2 * 2e9);
  CHECK(peak_flop_rate(cluster, "fp16") == 0.0);
  NodeGroup gpus = hosts;
  gpus.device_kind = "gpu";
  gpus.cores = 0;
  cluster.groups.push_back(gpus);
  cluster.finish("made");
  CHECK(peak_flop_rate(cluster, "bf16") == 2 * 2 * 2e9 + 2 * 4 * 1e12);
  CHECK(peak_flop_rate(cluster, "fp32") == 0.0);  // the GPU's is not known
}

}  // namespace
}  // namespace pptrain
