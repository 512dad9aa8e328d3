#include <cstdint>
#include <fstream>
#include <vector>

#include "support/catch.hpp"

namespace {

TEST_CASE("the reference token files have llm.c's header", "[data]") {
  for (const char* run : {"tied", "untied", "untied_sched", "untied_sgd"}) {
    std::ifstream file(std::string(PPTRAIN_TEST_DATA "/gpt2-reference/") + run + "/tokens.bin", std::ios::binary);
    REQUIRE(file);
    std::vector<std::int32_t> header(256);
    file.read(reinterpret_cast<char*>(header.data()), 1024);
    CHECK(header[0] == 20240520);
    CHECK(header[1] == 1);
    CHECK(header[2] == 20 * 8 * 32 + 1);
  }
}

}  // namespace
