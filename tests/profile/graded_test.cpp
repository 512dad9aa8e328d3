#include "profile/graded.hpp"

#include <algorithm>

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("the band of a prediction is that of the nearest graded runs", "[analytic]") {
  REQUIRE(graded_runs().size() > 1);
  const auto band = [](const std::vector<std::string>& kinds, const char* runtime) {
    return error_band_of(kinds, runtime_called(runtime));
  };
  CHECK(band({"A100-SXM-80GB"}, "fsdp")->of == "A100-SXM-80GB, like fsdp");
  CHECK(band({"A100-SXM-80GB"}, "torchtitan")->of == "A100-SXM-80GB, like fsdp");  // whose kernels
                                                                                   // it has
  CHECK(band({"A100-SXM-80GB"}, "pptrain")->of == "A100-SXM-80GB");
  CHECK(band({"A30"}, "pptrain")->of == "ampere GPUs");
  CHECK(band({"L4"}, "megatron")->of == "ada GPUs");
  CHECK(band({"T4"}, "megatron")->of == "other GPUs");
  CHECK_FALSE(band({"host"}, "pptrain"));
  CHECK_FALSE(band({"A100", "host"}, "pptrain"));
  const double both = band({"A100", "V100"}, "megatron")->relative;
  CHECK(both ==
        std::max(band({"A100"}, "megatron")->relative, band({"V100"}, "megatron")->relative));
}

}  // namespace
}  // namespace pptrain
