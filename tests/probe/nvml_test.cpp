#include "probe/nvml.hpp"

#include "probe/environment.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {
constexpr const char* described =
    "0000:03:00.0 0000:04:00.0 nvlink; 0000:03:00.0 0000:05:00.0 20; 0000:04:00.0 0000:05:00.0 30;"
    "0000:03:00.0 0000:81:00.0 50";
}

TEST_CASE("NVML tells which GPUs NVLink, a PCIe switch or only the host joins") {
  const Variable variable("PPTRAIN_TEST_NVML", described);
  const Nvml nvml(PPTRAIN_NVML_STAND_IN);
  REQUIRE(nvml.why_not().empty());
  CHECK(nvml.link("0000:03:00.0", "0000:04:00.0") == GpuLink::nvlink);
  CHECK(nvml.link("0000:05:00.0", "0000:03:00.0") == GpuLink::pcie);
  CHECK(nvml.link("0000:04:00.0", "0000:05:00.0") == GpuLink::through_host);
  CHECK(nvml.link("0000:03:00.0", "0000:81:00.0") == GpuLink::through_host);
  CHECK_FALSE(nvml.link("0000:04:00.0", "0000:81:00.0"));  // known, but it does not tell
  CHECK_FALSE(nvml.link("0000:03:00.0", "0000:99:00.0"));  // not known
}

TEST_CASE("without NVML there is a reason and no answer") {
  const Nvml missing("libpptrain-there-is-none.so.1");
  CHECK(missing.why_not().find("libpptrain-there-is-none.so.1") != std::string::npos);
  CHECK_FALSE(missing.link("0000:03:00.0", "0000:04:00.0"));
  const Nvml other("libm.so.6");
  CHECK(other.why_not() == "libm.so.6 has no nvmlInit_v2");
  CHECK_FALSE(other.link("0000:03:00.0", "0000:04:00.0"));
  const Nvml without_driver(PPTRAIN_NVML_STAND_IN);
  CHECK(without_driver.why_not().find("answers 9") != std::string::npos);
  CHECK_FALSE(without_driver.link("0000:03:00.0", "0000:04:00.0"));
}
