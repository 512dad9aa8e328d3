#include "probe/gpu_rates.hpp"

#include "support/catch.hpp"

using namespace pptrain;

namespace {

GpuInfo gpu(int major, int minor, int multiprocessors, double clock_hz) {
  GpuInfo info;
  info.major = major;
  info.minor = minor;
  info.multiprocessors = multiprocessors;
  info.clock_hz = clock_hz;
  return info;
}

}  // namespace

TEST_CASE("peak rates are those of NVIDIA's data sheets") {
  // V100 SXM2: 15.7 and 125 TFLOP/s; T4: 8.1 and 65.
  CHECK(peak_flops(gpu(7, 0, 80, 1.53e9)).at("fp32") == Approx(15.7e12).epsilon(0.01));
  CHECK(peak_flops(gpu(7, 0, 80, 1.53e9)).at("fp16") == Approx(125e12).epsilon(0.01));
  CHECK(peak_flops(gpu(7, 0, 80, 1.53e9)).count("bf16") == 0);
  CHECK(peak_flops(gpu(7, 5, 40, 1.59e9)).at("fp32") == Approx(8.1e12).epsilon(0.01));
  CHECK(peak_flops(gpu(7, 5, 40, 1.59e9)).at("fp16") == Approx(65e12).epsilon(0.01));
  // A100: 19.5, 156 and 312.
  CHECK(peak_flops(gpu(8, 0, 108, 1.41e9)).at("fp32") == Approx(19.5e12).epsilon(0.01));
  CHECK(peak_flops(gpu(8, 0, 108, 1.41e9)).at("tf32") == Approx(156e12).epsilon(0.01));
  CHECK(peak_flops(gpu(8, 0, 108, 1.41e9)).at("bf16") == Approx(312e12).epsilon(0.01));
  // A10: 125; L4: 121; H100 SXM: 67 and 989 at 1.83 GHz.
  CHECK(peak_flops(gpu(8, 6, 72, 1.695e9)).at("bf16") == Approx(125e12).epsilon(0.01));
  CHECK(peak_flops(gpu(8, 9, 58, 2.04e9)).at("bf16") == Approx(121e12).epsilon(0.01));
  CHECK(peak_flops(gpu(9, 0, 132, 1.83e9)).at("bf16") == Approx(989e12).epsilon(0.01));
}

TEST_CASE(
    "a GPU that is not known counts as the last one before it, one without a clock has no rate") {
  CHECK(peak_flops(gpu(8, 7, 16, 1e9)) == peak_flops(gpu(8, 6, 16, 1e9)));
  CHECK(peak_flops(gpu(9, 0, 132, 0.0)).empty());
  CHECK(peak_flops(gpu(6, 0, 56, 1.3e9)).empty());
}
