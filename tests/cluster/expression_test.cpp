// Clusters in one line of text.
#include "cluster/expression.hpp"

#include "cluster/device_catalogue.hpp"
#include "cluster/read.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

constexpr double gbit = 1.25e8;

TEST_CASE("an expression is nodes of the catalogues", "[cluster][expression]") {
  const Cluster cluster =
      parse_cluster_expression("2x dgx-h100, 4x dgx-a100-40, 1x 4x l40s @ 200Gb/s");
  CHECK(cluster.num_nodes() == 7);
  CHECK(cluster.num_devices() == 2 * 8 + 4 * 8 + 4);
  REQUIRE(cluster.groups.size() == 3);
  CHECK(cluster.name == "2x dgx-h100, 4x dgx-a100-40, 1x 4x l40s @ 200Gb/s");
  CHECK(cluster.groups[0].uplink.bandwidth == 3200 * gbit);
  CHECK(cluster.groups[1].device_kind == "a100-sxm-40gb");
  CHECK(cluster.groups[2].kind == "4 x l40s");
  CHECK(cluster.groups[2].num_devices == 4);
  CHECK(cluster.groups[2].link.bandwidth == 31.5e9);
  CHECK(cluster.groups[2].uplink.bandwidth == 200 * gbit);
  CHECK(cluster.switches.empty());
  CHECK(cluster.has_host_links());
  CHECK(cluster.bandwidth(DeviceId(0), DeviceId(51)) == 200 * gbit);
}

TEST_CASE("the same text in other forms is the same cluster", "[cluster][expression]") {
  const auto nodes = [](const std::string& text) {
    Cluster cluster = parse_cluster_expression(text);
    cluster.name = "same";
    return write_cluster(cluster);
  };
  const std::string one = nodes("2x 4x l40s @ 100Gb/s");
  for (const char* text :
       {"2x4xl40s@100Gbps", "  2 X 4 * L40S   @ 100 Gbit/s ", "2x 4x NVIDIA L40S @ 12.5 GB/s"}) {
    CAPTURE(text);
    CHECK(nodes(text) == one);
  }
  CHECK(nodes("dgx-h100") == nodes("1x DGX H100"));
  CHECK(nodes("ND96isr_H100_v5") == nodes("1x nd96isr-h100-v5"));
  CHECK(nodes("8x a100-sxm-80gb") == nodes("1x 8x a100-sxm-80gb"));
}

TEST_CASE("one device needs no links, and a kind is described once", "[cluster][expression]") {
  const Cluster one = parse_cluster_expression("rtx-4090");
  CHECK(one.num_devices() == 1);
  CHECK(one.groups.front().link.bandwidth == 0.0);
  const Cluster twice = parse_cluster_expression("1x p5.48xlarge, 2x dgx-h100");
  CHECK(twice.device_kinds.size() == 1);
  CHECK(twice.num_devices() == 24);
}

TEST_CASE("an expression written as a file reads as the same cluster", "[cluster][expression]") {
  for (const char* text :
       {"2x dgx-h100, 1x 4x l40s @ 200Gb/s", "3x p3.16xlarge", "2x 8x mi250x-gcd", "gb200-nvl72"}) {
    CAPTURE(text);
    const std::string written = write_cluster(parse_cluster_expression(text));
    CHECK(write_cluster(parse_cluster(written, "written")) == written);
  }
}

TEST_CASE("files are files, and other texts are expressions", "[cluster][expression]") {
  CHECK(means_cluster_file(source_file("inputs/clusters/dapple-a.toml")));
  CHECK(means_cluster_file("missing.toml"));
  CHECK(means_cluster_file("clusters/missing"));
  CHECK_FALSE(means_cluster_file("2x dgx-h100"));
  CHECK_FALSE(means_cluster_file("2x 4x l40s @ 100Gb/s, dgx-h100"));
  CHECK(read_cluster("2x dgx-h100").num_devices() == 16);
  CHECK(complaint_of([] { read_cluster("missing.toml"); }).starts_with("missing.toml: "));
}

TEST_CASE("bad expressions are refused with what to write", "[cluster][expression]") {
  struct Bad {
    const char* text;
    const char* message;
  };
  const std::string example = "; write for instance \"2x dgx-h100, 1x 4x l40s @ 100Gb/s\"";
  const std::vector<Bad> all = {
      {"", "names no nodes (it is empty)"},
      {"2x dgx-h100,", "has an empty part (commas stand between parts); remove a comma"},
      {"2x", "names nothing in \"2x\" (a node or a device is missing)"},
      {"2x @ 100Gb/s", "names nothing in \"2x @ 100Gb/s\""},
      {"0x dgx-h100", "has the count \"0\" (a count is a whole number of at least 1)"},
      {"-2x dgx-h100", "has the count \"-2\" (a count is a whole number of at least 1)"},
      {"2.5x dgx-h100", "has the count \"2.5\" (a count is a whole number of at least 1)"},
      {"99999999999x l40s",
       "has the count \"99999999999\" (a count is a whole number of at least 1)"},
      {"2x 3x 4x l40s", "has 3 counts in \"2x 3x 4x l40s\""},
      {"2x 4x dgx-h100",
       "has two counts in \"2x 4x dgx-h100\" (a dgx-h100 has 8 h100-sxm-80gb of its own); write "
       "\"2x "
       "dgx-h100\""},
      {"2x dgx-h101",
       "\"dgx-h101\" is no node or device that is known (nor is there a file of the whole text); "
       "did you "
       "mean dgx-"},
      {"4x h100",
       "\"h100\" is no node or device that is known (nor is there a file of the whole text); did "
       "you mean "
       "dgx-h100 or nd96isr_h100_v5 or h100-pcie-80gb or h100-sxm-80gb?"},
      {"2x toaster", "`pptrain cluster --list` shows what is known"},
      {"2x dgx-h100 @ fast",
       "has the network \"fast\" (a bandwidth with its unit stands behind @); write for instance "
       "\"@ 100Gb/s\""},
      {"2x dgx-h100 @", "has the network \"\""},
      {"2x dgx-h100 @ 0 Gb/s", "has the network \"0 Gb/s\""},
      {"2x dgx-h100 @ 100", "has the network \"100\""},
      {"2x dgx-h100 @ 1Gb/s @ 2Gb/s", "has two @"},
      {"2000000000x 8x l40s", "the cluster has more than 10000000 devices"},
  };
  for (const Bad& bad : all) {
    CAPTURE(bad.text);
    const std::string message = complaint_of([&] { parse_cluster_expression(bad.text); });
    CHECK(message.starts_with(std::string("cluster \"") + bad.text + "\""));
    CAPTURE(message);
    CHECK(message.find(bad.message) != std::string::npos);
    CHECK(message.find("; ") != std::string::npos);
  }
  CHECK(complaint_of([] { parse_cluster_expression("0x l40s"); }).ends_with(example));
}

TEST_CASE("the catalogues fit a screen of 80 columns", "[cluster][catalogue]") {
  for (const bool details : {false, true}) {
    const std::string text = describe_catalogue(details);
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      CAPTURE(text.substr(begin, end - begin));
      CHECK(end - begin <= 80);
    }
    for (const CatalogueDevice& device : device_catalogue())
      CHECK(text.find(device.name) != std::string::npos);
    CHECK((text.find("data sheet") != std::string::npos) == details);
  }
}

}  // namespace
}  // namespace pptrain
