#include "check_cluster.hpp"
#include "cluster/read.hpp"
#include "fuzz.hpp"

using namespace pptrain;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parse = [](const std::string& text) {
    Cluster cluster = parse_cluster(text, "fuzzed");
    check_cluster(cluster);
    return cluster;
  };
  check_round_trip(text_of(data, size), parse, write_cluster);
  return 0;
}
