#include "cluster/node_prices.hpp"

#include "cluster/read.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

std::string cluster_text(const std::string& root, const std::string& node,
                         const std::string& at_switch = "") {
  return root + R"(
[[device]]
kind = "h100-sxm-80gb"
[[node]]
kind = "rack"
count = 2
devices = { kind = "h100-sxm-80gb", count = 8 }
link = { bandwidth = "450 GB/s" }
uplink = { bandwidth = "50 GB/s" }
switch = "site"
)" + node +
         R"(
[[switch]]
name = "site"
uplink = { bandwidth = "10 Gbit/s" }
)" + at_switch;
}

TEST_CASE("prices, power and failures of a cluster's file are read and written",
          "[cluster][prices]") {
  const std::string text =
      cluster_text("currency = \"EUR\"\nstorage_bandwidth = \"20 GB/s\"\n",
                   "price = 98.32\npower = \"10.2 kW\"\nmtbf = \"5000 h\"\n", "egress = 0.09\n");
  for (const Cluster& cluster : {parse_cluster(text, "c.toml"),
                                 parse_cluster(write_cluster(parse_cluster(text, "c")), "d")}) {
    CHECK(cluster.currency == "EUR");
    CHECK(cluster.storage_bandwidth == 20e9);
    CHECK(*cluster.groups[0].price == 98.32);
    CHECK(cluster.groups[0].power == 10200.0);
    CHECK(cluster.groups[0].mtbf == 5000.0 * 3600.0);
    CHECK(cluster.switches[0].egress == 0.09);
    CHECK(node_watts(cluster.groups[0]) == 10200.0);
  }
}

TEST_CASE("a node takes what the catalogue says of its devices", "[cluster][prices]") {
  CHECK(node_watts(parse_cluster(cluster_text("", ""), "c").groups[0]) == 8 * 700.0);
  NodeGroup unknown;
  unknown.device_kind = "abacus";
  CHECK(node_watts(unknown) == 0.0);
}

TEST_CASE("prices without a currency are refused with their line", "[cluster][prices]") {
  const auto complaint = [](const std::string& text) {
    return complaint_of([&] { parse_cluster(text, "c.toml"); });
  };
  const std::string bare = complaint(cluster_text("", "price = 98.32\n"));
  CHECK(bare.starts_with("c.toml:11: the price has no currency"));
  CHECK(bare.find("add currency = \"USD\"") != std::string::npos);
  CHECK(complaint(cluster_text("", "", "egress = 1\n"))
            .find("the price of what leaves has no currency") != std::string::npos);
  CHECK(complaint(cluster_text("currency = \"dollars\"\n", ""))
            .starts_with("c.toml:1: \"dollars\" is no currency"));
  CHECK(complaint(cluster_text("currency = \"USD\"\n", "price = -1\n"))
            .find("must be between 0 and") != std::string::npos);
  CHECK(complaint(cluster_text("", "mtbf = 0\n")).find("must be positive") != std::string::npos);
  CHECK(complaint(cluster_text("", "power = \"3 GB\"\n")).find("is no unit of this key") !=
        std::string::npos);
}

TEST_CASE("the command line prices nodes, or devices by the hour", "[cluster][prices]") {
  Cluster cluster = read_cluster("2x dgx-h100, 1x 4x l40s");
  CHECK(set_node_price(cluster, parse_node_price("DGX_H100=98.32USD")));
  CHECK(set_node_price(cluster, parse_node_price("l40s = 1.5 USD")));
  CHECK_FALSE(set_node_price(cluster, parse_node_price("dgx-a100-40=3USD")));
  CHECK(*cluster.groups[0].price == 98.32);
  CHECK(*cluster.groups[1].price == 6.0);  // four devices
  CHECK(cluster.currency == "USD");
  CHECK(complaint_of([&] {
          set_node_price(cluster, parse_node_price("l40s=1EUR"));
        }).find("prices in USD and EUR") != std::string::npos);
}

TEST_CASE("prices that are none are refused with what to write", "[cluster][prices]") {
  const struct {
    const char* text;
    const char* problem;
  } bad[] = {{"dgx-h100", "names no node"},           {"=3USD", "names no node"},
             {"dgx-h100=3", "has no currency"},       {"dgx-h100=3usd", "\"usd\" is no currency"},
             {"dgx-h100=3$", "\"$\" is no currency"}, {"dgx-h100=USD", "is no price"},
             {"dgx-h100=-3USD", "is no price"},       {"dgx-h100=infUSD", "is no price"}};
  for (const auto& each : bad) {
    const std::string message = complaint_of([&] { parse_node_price(each.text); });
    INFO(message);
    CHECK(message.find(each.problem) != std::string::npos);
    CHECK(message.find("--price dgx-h100=98.32USD") != std::string::npos);
  }
  const std::string unknown =
      complaint_of([] { refuse_unknown_kind("--price dgx-h10=3USD", "dgx-h10", {"dgx-h100"}); });
  CHECK(unknown.find("did you mean dgx-h100?") != std::string::npos);
}

}  // namespace
}  // namespace pptrain
