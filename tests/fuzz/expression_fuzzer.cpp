#include "check_cluster.hpp"
#include "cluster/expression.hpp"
#include "cluster/read.hpp"
#include "fuzz.hpp"

using namespace pptrain;

/// The nodes that a line of text says are sound, and the file of them says the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bool is_file = false;
  const auto parse = [&is_file](const std::string& text) {
    Cluster cluster = is_file ? parse_cluster(text, "fuzzed") : parse_cluster_expression(text);
    check_cluster(cluster);
    is_file = true;
    return cluster;
  };
  check_round_trip(text_of(data, size), parse, write_cluster);
  return 0;
}
