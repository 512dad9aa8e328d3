#include "cluster/read.hpp"
#include "fuzz.hpp"

using namespace pptrain;

namespace {

/// Links between some devices of an accepted cluster are usable.
void check_links(const Cluster& cluster) {
  const DeviceId first(0);
  const DeviceId last(cluster.num_devices() - 1);
  PPTRAIN_ASSERT(cluster.node_of(last) == cluster.num_nodes() - 1, "node {} of {}", cluster.node_of(last),
                 cluster.num_nodes());
  if (first == last) return;
  const Link path = cluster.path(first, last);
  const Link slowest = cluster.slowest_link({first, last});
  PPTRAIN_ASSERT(path.bandwidth > 0.0 && path.latency >= 0.0, "{} B/s, {} s", path.bandwidth, path.latency);
  PPTRAIN_ASSERT(slowest.bandwidth == path.bandwidth && slowest.latency == path.latency, "{} and {} B/s",
                 slowest.bandwidth, path.bandwidth);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parse = [](const std::string& text) {
    Cluster cluster = parse_cluster(text, "fuzzed");
    check_links(cluster);
    PPTRAIN_ASSERT(!describe_cluster(cluster).empty(), "no description");
    return cluster;
  };
  check_round_trip(text_of(data, size), parse, write_cluster);
  return 0;
}
