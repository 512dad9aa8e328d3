#include <vector>

#include "cuda/twin.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// Twice the largest rounding of a sum of n values whose absolute values sum to `total`.
double sum_bound(std::size_t n, double total) { return 1.2e-7 * static_cast<double>(n) * total; }

}  // namespace

TEST_CASE("the GPU sums columns as the host, the same bits twice", "[cuda]") {
  Gpu gpu;
  const std::uint64_t seed = fresh_seed();
  for (const std::size_t rows : {1, 15, 16, 333, 5000}) {
    for (const std::size_t columns : {1, 33, 300}) {
      for (const DType type : all_types) {
        CAPTURE(rows, columns, type_name(type), seed);
        Twin d(gpu, rows, columns, type, {3, 1}), gradient(gpu, 1, columns), again(gpu, 1, columns);
        d.randomise(seed);
        gradient.randomise(seed + 1);
        again.randomise(seed + 1);
        host_kernels().add_column_sums(d.host(), gradient.host_f32());
        gpu.kernels.add_column_sums(d.device(), gradient.device_f32());
        gpu.kernels.add_column_sums(d.device(), again.device_f32());
        const Values summands = d.host_values(), host = gradient.host_values(),
                     device = gradient.device_values();
        for (std::size_t c = 0; c < columns; ++c) {
          double total = 1.0;
          for (std::size_t r = 0; r < rows; ++r) {
            total += std::abs(summands[r * columns + c]);
          }
          REQUIRE(std::abs(host[c] - device[c]) <= sum_bound(rows + 1, total));
        }
        REQUIRE(again.fetch().bytes() == gradient.fetch().bytes());
      }
    }
  }
}

TEST_CASE("the GPU sums columns and converts them as it does both apart", "[cuda]") {
  Gpu gpu;
  const std::uint64_t seed = fresh_seed();
  for (const DType type : {DType::bf16, DType::f16}) {
    for (const std::size_t rows : {1, 16, 333}) {
      for (const std::size_t columns : {1, 33, 300}) {
        CAPTURE(rows, columns, type_name(type), seed);
        Twin d(gpu, rows, columns, DType::f32, {3, 1}), gradient(gpu, 1, columns),
            gradient_apart(gpu, 1, columns);
        const Twin converted(gpu, rows, columns, type, {3, 1}),
            converted_apart(gpu, rows, columns, type, {3, 1});
        d.randomise(seed);
        gradient.randomise(seed + 1);
        gradient_apart.randomise(seed + 1);
        gpu.kernels.add_column_sums(d.device(), gradient_apart.device_f32());
        gpu.kernels.convert(d.device(), converted_apart.device());
        gpu.kernels.add_column_sums_and_convert(d.device(), gradient.device_f32(),
                                                converted.device());
        REQUIRE(gradient.fetch().bytes() == gradient_apart.fetch().bytes());
        REQUIRE(converted.device_values() == converted_apart.device_values());
        REQUIRE(converted.surroundings_are_untouched());
      }
    }
  }
}

TEST_CASE("the GPU sums squares in double, the same bits twice", "[cuda]") {
  Gpu gpu;
  const std::uint64_t seed = fresh_seed();
  for (const std::size_t n : {0, 1, 31, 4097, 300001}) {
    CAPTURE(n, seed);
    Twin x(gpu, 1, n == 0 ? 1 : n);
    x.randomise(seed, 3.0);
    const DeviceValues<double> sums(gpu, {0.25, 0.25});
    double expected = 0.25;
    host_kernels().sum_of_squares(x.host_f32(), n, &expected);
    gpu.kernels.sum_of_squares(x.device_f32(), n, sums.data());
    gpu.kernels.sum_of_squares(x.device_f32(), n, sums.data() + 1);
    const std::vector<double> actual = sums.fetch();
    REQUIRE(actual[0] == Approx(expected).epsilon(3e-16 * static_cast<double>(n + 1)));
    REQUIRE(actual[0] == actual[1]);
  }
}

TEST_CASE("the GPU sums squares of many runs as one after the other", "[cuda]") {
  Gpu gpu;
  Twin x(gpu, 1, 70000);
  x.randomise(fresh_seed(), 3.0);
  std::vector<ValueRun> on_host, on_gpu;
  for (std::size_t run = 0; run < 300; ++run) {  // more than a launch takes, some of nothing, some
                                                 // of several blocks
    const std::size_t begin = run * 7, size = run % 50 == 3 ? 60000 : run % 4 * 9;
    on_host.push_back({x.host_f32() + begin, size});
    on_gpu.push_back({x.device_f32() + begin, size});
  }
  const DeviceValues<double> sum(gpu, {0.25});
  double expected = 0.25;
  host_kernels().sums_of_squares(on_host.data(), on_host.size(), &expected);
  gpu.device.stream().use_graphs();  // which count what is called
  gpu.kernels.sums_of_squares(on_gpu.data(), on_gpu.size(), sum.data());
  gpu.device.synchronize();
  CHECK(gpu.device.stream().graph_counts().calls == 2 * 3);
  REQUIRE(sum.fetch()[0] == Approx(expected).epsilon(1e-10));
}

TEST_CASE("a NaN comes out of the GPU's sums", "[cuda]") {
  Gpu gpu;
  Twin x(gpu, 70, 10), gradient(gpu, 1, 10);
  x.randomise(1);
  gradient.randomise(2);
  x.set(69, 4, NAN);
  gpu.kernels.add_column_sums(x.device(), gradient.device_f32());
  for (std::size_t c = 0; c < 10; ++c) REQUIRE(std::isnan(gradient.device_values()[c]) == (c == 4));
  const DeviceValues<double> sum(gpu, {0.0});
  gpu.kernels.sum_of_squares(x.device_f32(), 700, sum.data());
  REQUIRE(std::isnan(sum.fetch()[0]));
}
