#include "runtime/places/named_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/read.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

using namespace pptrain;

namespace {

/// Two nodes with `first` and `second` devices; `hosts` is a line for each.
Cluster two_nodes(int first, int second, const std::string& hosts_of_first,
                  const std::string& hosts_of_second) {
  const auto node = [](const std::string& kind, int devices, const std::string& hosts) {
    return fmt::format(
        "[[node]]\nkind = \"{0}\"\ncount = 1\ndevices = {{ kind = \"{0}\", count = {1} }}\n"
        "link = {{ bandwidth = \"100 GB/s\" }}\nuplink = {{ bandwidth = \"10 GB/s\" }}\n{2}\n",
        kind, devices, hosts);
  };
  const std::string kinds =
      "[[device]]\nkind = \"a100\"\nmemory = \"40 GiB\"\n[[device]]\nkind = \"v100\"\nmemory = "
      "\"16 GiB\"\n";
  return parse_cluster(
      kinds + node("a100", first, hosts_of_first) + node("v100", second, hosts_of_second),
      "c.toml");
}

std::vector<RankHost> on_hosts(const std::vector<std::string>& hosts) {
  std::vector<RankHost> ranks;
  for (const std::string& name : hosts) {
    RankHost rank;
    rank.host.name = name;
    rank.leader = static_cast<int>(std::find(hosts.begin(), hosts.end(), name) - hosts.begin());
    ranks.push_back(rank);
  }
  return ranks;
}

/// The rank of each device.
std::vector<int> matched(const Cluster& cluster, const std::vector<std::string>& hosts) {
  std::vector<int> ranks;
  for (const RankId rank : match_hosts(cluster, on_hosts(hosts), "c.toml").rank_of_device)
    ranks.push_back(rank.value);
  return ranks;
}

std::string refusal(const Cluster& cluster, const std::vector<std::string>& hosts) {
  return complaint_of([&] { matched(cluster, hosts); });
}

}  // namespace

TEST_CASE("short names of hosts equal full ones, addresses only themselves") {
  CHECK(is_same_host("n1", "n1"));
  CHECK(is_same_host("n1", "N1.cluster.org"));
  CHECK(is_same_host("n1.cluster.org", "n1"));
  CHECK_FALSE(is_same_host("n1.a.org", "n1.b.org"));
  CHECK_FALSE(is_same_host("n1", "n10"));
  CHECK_FALSE(is_same_host("10", "10.0.0.1"));
  CHECK(is_same_host("10.0.0.1", "10.0.0.1"));
}

TEST_CASE(
    "ranks drive the devices of the node that has their host's name, wherever the launcher put "
    "them") {
  const Cluster cluster = two_nodes(2, 2, "hosts = [\"big\"]", "hosts = [\"small.site\"]");
  CHECK(matched(cluster, {"big", "big", "small", "small"}) == std::vector<int>{0, 1, 2, 3});
  CHECK(matched(cluster, {"small", "small", "big", "big"}) == std::vector<int>{2, 3, 0, 1});
  CHECK(matched(cluster, {"small.site", "big.site", "small.site", "big.site"}) ==
        std::vector<int>{1, 3, 0, 2});
  CHECK(match_hosts(cluster, on_hosts({"big", "big", "small", "small"}), "c.toml").taken.empty());
}

TEST_CASE("ranks on other hosts, or more or fewer of them than devices, are refused by name") {
  const Cluster cluster = two_nodes(2, 2, "hosts = [\"big\"]", "hosts = [\"small\"]");
  CHECK_THAT(refusal(cluster, {"big", "big", "other", "other"}),
             Catch::Contains("c.toml: ranks 2-3 run on other, which is no host of it"));
  CHECK_THAT(
      refusal(cluster, {"big", "big", "big", "small"}),
      Catch::Contains("2 devices of big for ranks 0-2") && Catch::Contains("start 2 ranks there"));
  const Cluster uneven = two_nodes(3, 1, "hosts = [\"big\"]", "hosts = [\"small\"]");
  CHECK_THAT(refusal(uneven, {"big", "big", "big", "big"}),
             Catch::Contains("3 devices of big for ranks 0-3"));
}

TEST_CASE(
    "nodes of one host share its ranks, and nodes without a name take what is left, which is "
    "said") {
  const Cluster one_host = two_nodes(2, 2, "hosts = [\"big\"]", "hosts = [\"big\"]");
  CHECK(matched(one_host, {"big", "big", "big", "big"}) == std::vector<int>{0, 1, 2, 3});
  const Cluster half = two_nodes(2, 2, "", "hosts = [\"small\"]");
  CHECK(matched(half, {"small", "x", "small", "x"}) == std::vector<int>{1, 3, 0, 2});
  const Cluster unnamed = two_nodes(2, 2, "", "");
  CHECK(matched(unnamed, {"small", "small", "big", "big"}) == std::vector<int>{0, 1, 2, 3});
  const std::vector<std::string> taken =
      match_hosts(unnamed, on_hosts({"small", "small", "big", "big"}), "c.toml").taken;
  CHECK(taken == std::vector<std::string>{"node 0 (a100) for small", "node 1 (v100) for big"});
  CHECK_THAT(describe_taken(taken, "c.toml"),
             Catch::Contains("c.toml: taking node 0 (a100) for small, node 1 (v100) for big (these "
                             "nodes have no host"));
  CHECK(match_hosts(unnamed, on_hosts({"x", "y", "x", "y"}), "c.toml").taken.front() ==
        "node 0 (a100) for x and y");
}

TEST_CASE("one node for one host is not worth a word") {
  const Cluster alone = parse_cluster(
      "[[device]]\nkind = \"cpu\"\nmemory = \"1 GiB\"\n[[node]]\ndevices = { kind = \"cpu\", count "
      "= 2 }\n"
      "link = { bandwidth = \"10 GB/s\" }\n",
      "c.toml");
  CHECK(match_hosts(alone, on_hosts({"x", "x"}), "c.toml").taken.empty());
}
