#include "report/tensorboard.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("CRC-32C of known texts", "[report]") {
  // RFC 3720, appendix B.4, and the check value of the usual catalogues.
  CHECK(crc32c("123456789") == 0xe3069283U);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aaU);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43U);
  CHECK(crc32c("") == 0U);
}

}  // namespace
}  // namespace pptrain
