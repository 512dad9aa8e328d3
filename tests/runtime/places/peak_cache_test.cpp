#include "runtime/places/peak_cache.hpp"

#include <fstream>
#include <functional>

#include "runtime/job_folder.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

/// Another value with every measurement, as on a machine that others use too.
struct Measurements {
  int count = 0;
  PeakRates operator()() {
    ++count;
    return {{{"fp32", 100e9 / count}, {"bf16", 200e9 / count}, {"fp16", 100e9 / count}},
            20e9 / count};
  }
};

TEST_CASE("equal processors have the same peak in every job", "[peak][np1]") {
  const test::JobFolder folder;
  const std::string path = folder.path() + "/peak.json";
  Measurements measurements;
  const FindPeakRates measure = std::ref(measurements);
  const PeakRates first = kept_peak_rates(path, "Zen 4; oneDNN", measure);
  const PeakRates second = kept_peak_rates(path, "Zen 4; oneDNN", measure);
  CHECK(measurements.count == 1);
  CHECK(first == second);
  CHECK((first.flops.at("bf16") == 200e9 && first.memory_bandwidth == 20e9));
  // A file of another processor, half of one, and one without numbers are each measured anew, once.
  CHECK(kept_peak_rates(path, "Zen 5; oneDNN", measure).flops.at("fp32") == 50e9);
  const std::string begin =
      "{\"schema\": \"pptrain.peak_rates/2\", \"processor\": \"Zen 5; oneDNN\", ";
  for (const std::string& damaged :
       {std::string("{\"schema\": \"pptrain.peak_ra"), std::string("{}"), std::string(),
        begin + R"("bytes_per_second": 1, "flop_per_second": {"fp32": -1}})",
        begin + R"("flop_per_second": {"fp32": 1, "bf16": 1, "fp16": 1}})",
        std::string(R"({"schema": "pptrain.peak_rates/1"})")}) {
    std::ofstream(path) << damaged;
    const int before = measurements.count;
    const PeakRates anew = kept_peak_rates(path, "Zen 5; oneDNN", measure);
    CHECK(measurements.count == before + 1);
    CHECK(kept_peak_rates(path, "Zen 5; oneDNN", measure) == anew);
    CHECK(measurements.count == before + 1);
  }
  kept_peak_rates("", "Zen 5; oneDNN", measure);
  CHECK(measurements.count == 9);  // without a cache every time
}

}  // namespace
