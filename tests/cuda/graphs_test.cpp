// Calls that come again run as CUDA graphs, and nobody can tell but by the time.
#include <cstring>
#include <new>

#include "cuda/attention.hpp"
#include "cuda/check.hpp"
#include "cuda/compute_stream.hpp"
#include "cuda/products.hpp"
#include "cuda/twin.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

constexpr std::size_t n = 1000;

/// Four calls, which give x (x0, then what came before): y += x, y *= factor, x = y, x *= 0.5.
void row(Gpu& gpu, float* x, float* y, float factor) {
  gpu.kernels.add(x, y, n);
  gpu.kernels.scale(y, factor, n);
  gpu.device.copy(x, y, n * sizeof(float));
  gpu.kernels.scale(x, 0.5f, n);
}

/// The four calls of a row on the host, for one element.
void row(float& x, float& y, float factor) {
  y += x;
  y *= factor;
  x = y;
  x *= 0.5f;
}

/// A GPU with graphs, and two vectors.
struct Rows {
  Gpu gpu;
  DeviceValues<float> x{gpu, std::vector<float>(n, 1.0f)}, y{gpu, std::vector<float>(n, 2.0f)};
  float host_x = 1.0f, host_y = 2.0f;

  Rows() {
    gpu.device.synchronize();
    gpu.device.stream().use_graphs();
  }
  /// A row of calls that something waits for.
  void run(float factor) {
    row(gpu, x.data(), y.data(), factor);
    row(host_x, host_y, factor);
    gpu.device.work_so_far();
  }
  void check() {
    REQUIRE(x.fetch() == std::vector<float>(n, host_x));
    REQUIRE(y.fetch() == std::vector<float>(n, host_y));
  }
  GraphCounts counts() const { return gpu.device.stream().graph_counts(); }
};

}  // namespace

TEST_CASE("a row of calls runs as a graph from the second time on", "[cuda]") {
  Rows rows;
  for (int i = 0; i < 5; ++i) rows.run(1.25f);
  rows.check();
  CHECK(rows.counts().calls == 20);
  CHECK(rows.counts().graphs == 1);
  CHECK(rows.counts().launches == 4);
  CHECK(rows.counts().calls_in_graphs == 16);
}

TEST_CASE("what the host computes anew is never that of an earlier row", "[cuda]") {
  Rows rows;
  for (int i = 0; i < 6; ++i) rows.run(1.0f + 0.125f * static_cast<float>(i));
  CHECK(rows.counts().graphs == 0);
  for (int i = 0; i < 6; ++i) rows.run(1.0f + 0.125f * static_cast<float>(i % 2));
  rows.check();
  CHECK(rows.counts().graphs == 2);
  CHECK(rows.counts().launches == 6);
}

TEST_CASE("rows on other memory, or of other lengths, are other rows", "[cuda]") {
  Rows rows;
  const DeviceValues<float> z(rows.gpu, std::vector<float>(n, 4.0f));
  for (int i = 0; i < 3; ++i) {
    rows.run(1.25f);
    row(rows.gpu, z.data(), rows.y.data(), 0.5f);
    rows.gpu.kernels.scale(rows.y.data(), 2.0f, n - 1);
    rows.gpu.device.work_so_far();
  }
  CHECK(rows.counts().graphs == 2);
  CHECK(rows.counts().launches == 4);
  // Without graphs the values are the same.
  Gpu plain;
  const DeviceValues<float> x(plain, std::vector<float>(n, 1.0f)),
      y(plain, std::vector<float>(n, 2.0f)), w(plain, std::vector<float>(n, 4.0f));
  for (int i = 0; i < 3; ++i) {
    row(plain, x.data(), y.data(), 1.25f);
    row(plain, w.data(), y.data(), 0.5f);
    plain.kernels.scale(y.data(), 2.0f, n - 1);
  }
  CHECK(rows.x.fetch() == x.fetch());
  CHECK(rows.y.fetch() == y.fetch());
  CHECK(z.fetch() == w.fetch());
}

TEST_CASE("calls that wait are made before their memory goes", "[cuda]") {
  Rows rows;
  for (int i = 0; i < 4; ++i) {
    void* block = rows.gpu.device.allocate(n * sizeof(float));
    rows.gpu.device.copy(block, rows.x.data(), n * sizeof(float));
    rows.gpu.kernels.scale(static_cast<float*>(block), 2.0f, n);
    rows.gpu.device.copy(rows.y.data(), block, n * sizeof(float));
    rows.gpu.kernels.add(rows.x.data(), rows.y.data(), n);
    rows.gpu.device.free(block);
  }
  rows.host_y = 3.0f;
  rows.check();
}

TEST_CASE("the bytes between a value's members are no part of it", "[cuda]") {
  struct Gappy {
    char letter;
    double number;
    short digit;
  };
  std::string keys[2];
  for (const int filling : {0, 255}) {
    alignas(Gappy) unsigned char place[sizeof(Gappy)];
    std::memset(place, filling, sizeof(place));
    auto* value = new (place) Gappy;
    value->letter = 'a';
    value->number = 2.5;
    value->digit = 7;
    cuda::CallKey key;
    key.add(*value);
    keys[filling / 255] = key.text();
  }
  CHECK(keys[0] == keys[1]);
  CHECK(keys[0].size() == sizeof(Gappy));
}

TEST_CASE("what cannot be captured is called, and nothing is captured any more", "[cuda]") {
  Rows rows;
  static constexpr char kind = 0;
  for (int i = 0; i < 4; ++i) {
    rows.gpu.device.stream().call(
        &kind, [](cudaStream_t stream) { PPTRAIN_CUDA(cudaStreamSynchronize, stream); });
    rows.run(1.25f);
  }
  rows.check();
  CHECK(rows.counts().graphs == 0);
  CHECK(rows.counts().launches == 0);
  CHECK(rows.counts().calls == 10);  // from the third time on they are made at once
}

TEST_CASE("products and attention run in graphs as without them", "[cuda]") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  std::vector<std::vector<std::byte>> results;
  for (const bool graphs : {false, true}) {
    GpuProducts gpu;
    const auto attention = make_cuda_attention(gpu.device);
    if (graphs) gpu.device.stream().use_graphs();
    Twin x(gpu, 64, 96, DType::bf16), w(gpu, 32, 96, DType::bf16), bias(gpu, 1, 96),
        dw(gpu, 32, 96);
    Twin out(gpu, 64, 32, DType::bf16), back(gpu, 64, 96, DType::bf16), log_sum(gpu, 64, 2);
    x.randomise(seed);
    w.randomise(seed + 1);
    bias.randomise(seed + 2);
    for (int i = 0; i < 4; ++i) {
      attention->forward({multi_head(2, 32, 2, 16), x.device().columns_from(0, 32),
                          x.device().columns_from(32, 32), x.device().columns_from(64, 32),
                          out.device(), log_sum.device_f32()},
                         gpu.arena);
      gpu.gemm->multiply(Transpose::no, out.device(), Transpose::no, w.device(), back.device(),
                         {.bias = bias.device_f32()});
      gpu.gemm->multiply(Transpose::yes, out.device(), Transpose::no, back.device(), dw.device(),
                         {.accumulate = i > 0});
      gpu.kernels.scale(bias.device_f32(), 0.5f, 96);
      gpu.device.work_so_far();
    }
    results.push_back(dw.fetch().bytes());
    results.push_back(back.fetch().bytes());
    const GraphCounts counts = gpu.device.stream().graph_counts();
    CHECK(counts.graphs == (graphs ? 1 : 0));  // the first row does not accumulate, the second
                                               // comes again
    CHECK(counts.launches == (graphs ? 2 : 0));
  }
  CHECK(results[0] == results[2]);
  CHECK(results[1] == results[3]);
}

TEST_CASE("graphs that do not come again make room for others", "[cuda]") {
  Rows rows;
  const auto twice = [&rows](float factor) {
    rows.run(factor);
    rows.run(factor);
  };
  for (int i = 0; i < 520; ++i) twice(1.0f + static_cast<float>(i) / 2048);
  CHECK(rows.counts().graphs == 512);
  for (int i = 0; i < 8200; ++i) rows.run(1.0f);
  CHECK(rows.counts().graphs == 512);
  rows.gpu.device.synchronize();
  twice(0.75f);
  CHECK(rows.counts().graphs == 513);
}

TEST_CASE("where rows of calls do not come again, they are made at once", "[cuda]") {
  Rows rows;
  const auto fills = [&rows](int number) {
    for (int call = 0; call < 4; ++call) {
      rows.gpu.device.fill(rows.x.data(), static_cast<unsigned char>(number),
                           static_cast<std::size_t>(number / 256 + 1));
    }
    rows.gpu.device.work_so_far();
  };
  for (int i = 0; i < 70000; ++i) fills(i % 65536 + i / 65536);
  CHECK(rows.counts().calls == 4 << 16);
  CHECK(rows.counts().launches == 0);
}
