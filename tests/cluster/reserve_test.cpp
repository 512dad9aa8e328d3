#include "cluster/reserve.hpp"

#include "cluster/read.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

constexpr double gib = 1073741824.0;

/// A cluster of one device, with `lines` in its [[device]].
std::string text_with(const std::string& kind, const std::string& lines,
                      const std::string& emulate = "no") {
  return "emulate = \"" + emulate + "\"\n[[device]]\nkind = \"" + kind + "\"\n" + lines +
         "\n[[node]]\ndevices = { kind = \"" + kind + "\" }\n";
}

DeviceKind kind_with(const std::string& kind, const std::string& lines,
                     const std::string& emulate = "no") {
  Cluster cluster = parse_cluster(text_with(kind, lines, emulate), "c.toml");
  set_usual_reserves(cluster);
  return cluster.device_kinds.front();
}

TEST_CASE("plans may use what a reserve leaves of a memory", "[cluster][reserve]") {
  const Cluster cluster =
      parse_cluster(text_with("d", "memory = \"16 GiB\"\nreserve = \"1.5 GiB\""), "c.toml");
  const DeviceKind& kind = cluster.device_kinds.front();
  CHECK(kind.memory == 14.5 * gib);
  CHECK(kind.reserve == 1.5 * gib);
  CHECK(kind.whole_memory() == 16.0 * gib);
  const Cluster back = parse_cluster(write_cluster(cluster), "written");
  CHECK(back.device_kinds.front().memory == kind.memory);
  CHECK(back.device_kinds.front().reserve == kind.reserve);
  CHECK(describe_cluster(cluster).find("16 GiB, 1.5 GiB of it reserved") != std::string::npos);
}

TEST_CASE("a reserve of 0 is kept apart from none", "[cluster][reserve]") {
  const Cluster none = parse_cluster(text_with("d", "memory = \"16 GiB\""), "c.toml");
  CHECK_FALSE(none.device_kinds.front().reserve.has_value());
  CHECK(none.device_kinds.front().memory == 16.0 * gib);
  const Cluster zero = parse_cluster(text_with("d", "memory = \"16 GiB\"\nreserve = 0"), "c.toml");
  CHECK(parse_cluster(write_cluster(zero), "written").device_kinds.front().reserve == 0.0);
  CHECK(describe_cluster(zero) == describe_cluster(none));
}

TEST_CASE("GPUs are known by words of their names", "[cluster][reserve]") {
  for (const char* name : {"t4", "h100-80gb", "NVIDIA H100 80GB HBM3", "nvidia-a100-sxm4-40gb",
                           "gh200-96gb", "V100", "tesla-t4", "rtx-4090", "a100_40gb"}) {
    CAPTURE(name);
    CHECK(is_gpu_name(name));
  }
  for (const char* name : {"", "v", "t", "host", "amd-epyc-7763", "fast", "at4", "h1000", "mi300x",
                           "intel-xeon-e5-p2"}) {
    CAPTURE(name);
    CHECK_FALSE(is_gpu_name(name));
  }
}

TEST_CASE("GPUs of which nothing is said have the usual reserve, of a small one an eighth",
          "[cluster][reserve]") {
  CHECK(kind_with("h100-80gb", "memory = \"80 GiB\"").memory == 78.5 * gib);
  CHECK(kind_with("h100-80gb", "memory = \"80 GiB\"").reserve == 1.5 * gib);
  CHECK(kind_with("p4", "memory = \"8 GiB\"").memory == 7.0 * gib);
  CHECK(kind_with("h100-80gb", "memory = \"80 GiB\"\nreserve = 0").memory == 80.0 * gib);
  CHECK(kind_with("h100-80gb", "memory = \"80 GiB\"\nreserve = \"3 GiB\"").memory == 77.0 * gib);
  CHECK(kind_with("epyc", "memory = \"80 GiB\"").memory == 80.0 * gib);
}

TEST_CASE("emulated devices have all of their memory, or what their file leaves",
          "[cluster][reserve]") {
  for (const char* emulate : {"timing", "numbers"}) {
    CHECK(kind_with("h100-80gb", "memory = \"80 GiB\"", emulate).memory == 80.0 * gib);
    CHECK(kind_with("h100-80gb", "memory = \"80 GiB\"\nreserve = \"1 GiB\"", emulate).memory ==
          79.0 * gib);
  }
}

TEST_CASE("setting the usual reserves again changes nothing", "[cluster][reserve]") {
  Cluster cluster = parse_cluster(text_with("h100", "memory = \"80 GB\""), "c.toml");
  set_usual_reserves(cluster);
  const double memory = cluster.device_kinds.front().memory;
  set_usual_reserves(cluster);
  CHECK(cluster.device_kinds.front().memory == memory);
  CHECK(cluster.device_kinds.front().whole_memory() == 80e9);
}

TEST_CASE("a reserve that leaves nothing, or is none, is refused with its line",
          "[cluster][reserve]") {
  const auto refused = [](const std::string& reserve) {
    return complaint_of([&] {
      parse_cluster(text_with("d", "memory = \"16 GiB\"\nreserve = " + reserve), "c.toml");
    });
  };
  CHECK(refused("\"16 GiB\"") ==
        "c.toml:5: device.reserve leaves no memory to plans (it is 16 GiB of the 16 GiB of \"d\"); "
        "write less than "
        "memory: what drivers and libraries take of the device, for instance \"1.5 GiB\"");
  CHECK(refused("\"1 TiB\"").starts_with("c.toml:5: device.reserve leaves no memory"));
  CHECK(refused("-1").starts_with("c.toml:5: device.reserve must not be negative"));
  CHECK(refused("\"1.5\"").starts_with("c.toml:5: "));
  CHECK(refused("true").starts_with("c.toml:5: "));
  Cluster made = parse_cluster(text_with("d", "memory = \"16 GiB\""), "c.toml");
  made.device_kinds.front().reserve = -1.0;
  CHECK(complaint_of([&] { made.finish("made"); }).find("reserve of \"d\" must not be negative") !=
        std::string::npos);
}

}  // namespace
}  // namespace pptrain
