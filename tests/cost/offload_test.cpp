#include "cost/offload.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a chunk of offloaded state is an eighth of it in whole cache lines of parameters",
          "[cost]") {
  CHECK(offloaded_chunk_elements(1024) == 128);
  CHECK(offloaded_chunk_elements(1000) == 128);  // 125 in lines of 16
  CHECK(offloaded_chunk_elements(1 << 20) == 1 << 17);
}

TEST_CASE("a chunk of offloaded state has a cache line at least and 32 MiB of AdamW's at most",
          "[cost]") {
  CHECK(offloaded_chunk_elements(0) == 16);
  CHECK(offloaded_chunk_elements(5) == 16);
  CHECK(offloaded_chunk_elements(std::size_t{1} << 25) == std::size_t{1} << 22);
  CHECK(offloaded_chunk_elements(std::size_t{1} << 40) == std::size_t{1} << 22);
  CHECK(most_offloaded_chunk_elements * 2 * sizeof(float) == 32 << 20);  // m and v
}

}  // namespace
}  // namespace pptrain
