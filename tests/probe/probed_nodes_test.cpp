#include "probe/probed_nodes.hpp"

#include "cluster/read.hpp"
#include "probe/fake_gpus.hpp"
#include "probe/found_cluster.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

constexpr double gib = 1024.0 * 1048576.0;

HostReport host(const std::string& name) {
  HostReport report;
  report.name = name;
  report.kernel = name;
  report.cpu_model = "cpu";
  report.cores = {0, 1};
  report.memory_bytes = 64.0 * gib;
  return report;
}

/// As `discover_cluster` puts it together, with links of these speeds.
Cluster cluster_of(const std::vector<RankHost>& ranks, const std::vector<Link>& host_uplinks) {
  std::vector<ProbedNode> nodes = probed_nodes(ranks);
  for (ProbedNode& node : nodes) {
    node.link = {300e9, 1e-5};
    node.uplink = {20e9, 2e-5};
    if (node.gpu) node.host_link = {50e9, 1e-5};
    node.rates.flops = {{"fp32", 1e11}};
  }
  Cluster cluster = found_cluster(nodes, device_pools(ranks, nodes), host_uplinks);
  return parse_cluster(write_cluster(cluster), "test");
}

}  // namespace

TEST_CASE("ranks with a GPU each are a node of these GPUs, whatever number they see them under") {
  // One visible device per rank or all visible: what counts is the UUID.
  std::vector<RankHost> ranks;
  for (int r = 0; r < 4; ++r) ranks.push_back({0, host("n1"), fake_gpu("NVIDIA H100", 3 + r, 80)});
  const Cluster cluster = cluster_of(ranks, {{}});
  REQUIRE(cluster.num_nodes() == 1);
  CHECK(cluster.num_devices() == 4);
  const DeviceKind& kind = cluster.device_kinds.front();
  CHECK(kind.name == "nvidia-h100");
  CHECK(kind.memory == 78.5 * gib);  // 0.5 GiB are in use, 1 GiB is kept free
  CHECK(kind.reserve == 1.5 * gib);
  CHECK(kind.flops.at("bf16") == Approx(989e12).epsilon(0.01));
  CHECK(kind.memory_bandwidth == Approx(3.35e12));
  CHECK_FALSE(cluster.groups.front().shares_cores());
  CHECK(cluster.groups.front().host_link.bandwidth == Approx(50e9));
}

TEST_CASE("ranks that share GPUs share their memory, and those that come first have one each") {
  std::vector<RankHost> ranks;
  for (const int bus : {3, 3, 4, 4})
    ranks.push_back({0, host("n1"), fake_gpu("NVIDIA H100", bus, 80)});
  CHECK(probed_nodes(ranks).front().ranks == std::vector<int>{0, 2, 1, 3});
  const Cluster cluster = cluster_of(ranks, {{}});
  CHECK(cluster.num_devices() == 4);
  CHECK(cluster.device_kinds.front().memory == 39.25 * gib);
  CHECK(cluster.groups.front().cores == 2);
  CHECK(cluster.groups.front().shares_cores());
}

TEST_CASE("a GPU that containers share is of one pool") {
  const std::vector<RankHost> ranks = {{0, host("a"), fake_gpu("NVIDIA T4", 3, 16)},
                                       {1, host("b"), fake_gpu("NVIDIA T4", 3, 16)}};
  const Cluster cluster = cluster_of(ranks, {{10e9, 3e-5}, {10e9, 3e-5}});
  REQUIRE(cluster.num_nodes() == 2);
  CHECK(cluster.groups.front().core_pool == "pool 0");
  CHECK(cluster.groups.front().cores == 1);
  CHECK(cluster.device_kinds.front().memory == 7.25 * gib);  // (16 - 0.5 - 1) / 2
}

TEST_CASE("a host with two kinds of GPUs is two nodes below a switch of its own") {
  std::vector<RankHost> ranks;
  for (int r = 0; r < 4; ++r) {
    ranks.push_back({0, host("n1"),
                     r < 2 ? fake_gpu("NVIDIA A100", 3 + r, 40) : fake_gpu("Tesla T4", 3 + r, 16)});
  }
  SECTION("alone") {
    const Cluster cluster = cluster_of(ranks, {{}});
    REQUIRE(cluster.num_nodes() == 2);
    CHECK(cluster.kind_of(DeviceId(0)).name == "nvidia-a100");
    CHECK(cluster.kind_of(DeviceId(3)).name == "tesla-t4");
    CHECK(cluster.bandwidth(DeviceId(0), DeviceId(1)) == Approx(300e9));
    CHECK(cluster.bandwidth(DeviceId(0), DeviceId(2)) == Approx(20e9));
    CHECK(cluster.switches.empty());
  }
  SECTION("beside another host") {
    for (int r = 4; r < 6; ++r) ranks.push_back({4, host("n2"), fake_gpu("Tesla T4", 3 + r, 16)});
    std::vector<ProbedNode> nodes = probed_nodes(ranks);
    CHECK(host_starts(nodes) == std::vector<std::size_t>{0, 2, 3});
    const Cluster cluster = cluster_of(ranks, {{1e9, 3e-5}, {20e9, 3e-5}});
    REQUIRE(cluster.num_nodes() == 3);
    CHECK(cluster.bandwidth(DeviceId(0), DeviceId(2)) == Approx(20e9));  // inside the host
    CHECK(cluster.bandwidth(DeviceId(0), DeviceId(4)) == Approx(1e9));   // by the host's uplink
    CHECK(cluster.device_kinds.size() == 2);
  }
}

TEST_CASE("ranks with and without a GPU on one host are of two kinds") {
  const std::vector<RankHost> ranks = {{0, host("n1"), fake_gpu("NVIDIA H100", 3, 80)},
                                       {0, host("n1")}};
  const Cluster cluster = cluster_of(ranks, {{}});
  REQUIRE(cluster.num_nodes() == 2);
  CHECK(cluster.kind_of(DeviceId(0)).name == "nvidia-h100");
  CHECK(cluster.kind_of(DeviceId(1)).name == "cpu");
  CHECK(cluster.kind_of(DeviceId(1)).memory == 64.0 * gib);
  CHECK(cluster.groups.back().host_link.bandwidth == 0.0);
}

TEST_CASE("one pair is measured for each way in which GPUs reach each other") {
  std::vector<RankHost> ranks;
  for (int r = 0; r < 4; ++r) ranks.push_back({0, host("n1"), fake_gpu("NVIDIA H100", 3 + r, 80)});
  const ProbedNode node = probed_nodes(ranks).front();
  GpuNeighbours neighbours(4);
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) {
      if (a != b) neighbours[a][b] = a / 2 == b / 2 ? GpuLink::nvlink : GpuLink::through_host;
    }
  }
  using Pairs = std::vector<std::pair<int, int>>;
  CHECK(different_pairs(node, neighbours) == Pairs{{0, 1}, {0, 2}});
}
