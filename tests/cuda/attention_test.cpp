// Attention on a GPU against that of the host.
#include "cuda/attention.hpp"

#include <cmath>

#include "cuda/hardware.hpp"
#include "cuda/twin.hpp"
#include "kernels/attention_case.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

const std::vector<AttentionCase> own_cases{{2, 1, 2, 4},
                                           {2, 7, 3, 5},
                                           {1, 64, 2, 16},
                                           {2, 65, 1, 32},
                                           {1, 100, 2, 72},
                                           {1, 40, 1, 136},
                                           {1, 70, 6, 16, 3},
                                           {2, 35, 5, 24, 3, 2},
                                           {1, 66, 4, 80, 4, 1},
                                           {1, 100, 2, 16, 1, 0, 1},
                                           {1, 131, 3, 24, 3, 1, 40},
                                           {2, 97, 2, 32, 2, 0, 32},
                                           {1, 90, 1, 136, 1, 0, 17}};
/// Documents of one position, of odd lengths, of whole tiles and as long as the sample, some within
/// windows.
const std::vector<AttentionCase> document_cases{{2, 100, 2, 16, 1, 0, 0, 1.0, {1, 7, 50, 3}},
                                                {3, 70, 1, 24, 1, 0, 0, 1.0, {1}},
                                                {1, 97, 4, 32, 4, 1, 0, 1.0, {32, 32}},
                                                {2, 131, 3, 24, 3, 1, 40, 1.0, {45, 3, 77}},
                                                {1, 90, 1, 136, 1, 0, 17, 1.0, {33, 16, 90}},
                                                {2, 65, 2, 16, 2, 0, 1, 1.0, {9}},
                                                {2, 65, 2, 72, 1, 0, 0, 1.0, {65}}};
/// Every position sees all.
const std::vector<AttentionCase> whole_cases{
    {2, 1, 2, 4, 1, 0, 0, 1.0, {}, false},   {1, 64, 2, 16, 1, 0, 0, 1.0, {}, false},
    {2, 65, 1, 32, 1, 0, 0, 1.0, {}, false}, {1, 100, 2, 72, 1, 0, 0, 1.0, {}, false},
    {2, 35, 5, 24, 3, 2, 0, 1.0, {}, false}, {1, 90, 1, 136, 1, 0, 0, 0.5, {}, false}};
/// Scores within a cap: far above it, about as large, and much smaller than it; with windows,
/// documents, key heads that are shared, and every position seeing all.
const std::vector<AttentionCase> capped_cases{
    {2, 7, 3, 5, 1, 0, 0, 1.0, {}, true, 0.5},
    {1, 100, 4, 80, 4, 0, 0, 1.0, {}, true, 2.0},
    {2, 97, 3, 16, 3, 0, 7, 1.0, {}, true, 50.0},
    {2, 130, 2, 24, 1, 0, 0, 1.0, {1, 7, 50, 3}, true, 1.0},
    {1, 197, 3, 64, 1, 0, 0, 0.25, {}, false, 0.25},
    {1, 90, 1, 136, 1, 0, 17, 1.0, {33, 16, 90}, true, 1.5}};
const std::vector<AttentionCase> fast_cases{{2, 33, 2, 16},
                                            {1, 64, 3, 64},
                                            {3, 7, 1, 8},
                                            {2, 33, 6, 16, 3},
                                            {1, 40, 4, 64, 4},
                                            {1, 40, 3, 16, 2, 1},
                                            {1, 70, 2, 16, 1, 0, 20},
                                            {2, 40, 4, 16, 2, 0, 1},
                                            {1, 33, 2, 24, 1, 0, 33},
                                            {2, 40, 2, 16, 1, 0, 0, 1.0, {13, 9}},
                                            {2, 40, 4, 16, 2, 0, 0, 1.0, {}, false},
                                            {1, 197, 3, 64, 1, 0, 0, 1.0, {}, false},
                                            {2, 256, 2, 64, 1, 0, 0, 1.0, {}, false},
                                            {2, 40, 4, 16, 2, 0, 0, 1.0, {}, true, 0.5}};

/// Buffers of one forward and backward pass on both sides.
struct Run {
  Gpu& gpu;
  AttentionCase c;
  std::vector<std::int32_t> document_begin;
  Buffer on_device;  // of document_begin
  Twin qkv, out, log_sum, dout, dqkv;

  Run(Gpu& one, const AttentionCase& sizes, DType type, std::size_t padding = 3)
      : gpu(one),
        c(sizes),
        document_begin(c.document_begin()),
        on_device(gpu.arena, document_begin.size() * sizeof(std::int32_t)),
        qkv(gpu, c.rows(), c.qkv_width(), type, {padding, 0}),
        out(gpu, c.rows(), c.width(), type, {padding, 0}),
        log_sum(gpu, c.rows(), c.heads),
        dout(gpu, c.rows(), c.width(), type, {padding, 0}),
        dqkv(gpu, c.rows(), c.qkv_width(), type, {padding, 0}) {
    qkv.randomise(seed, 2.0);
    dout.randomise(seed + 1);
    if (!document_begin.empty())
      gpu.device.upload(on_device.data(), document_begin.data(), on_device.bytes());
  }

  void run(Attention& attention) {
    run(
        attention, [](const Twin& twin) { return twin.device(); }, on_device.data(),
        log_sum.device_f32(), gpu.arena);
  }
  void run_host() {
    Arena arena;
    run(
        host_attention(), [](const Twin& twin) { return twin.host(); }, document_begin.data(),
        log_sum.host_f32(), arena);
  }

  /// Both sides sum in fp32 and round; probabilities may be rounded to the type before they
  /// multiply values.
  void check(const AttentionCase& sizes, DType type, double factor) {
    CAPTURE(seed, sizes.samples, sizes.length, sizes.heads, sizes.head_size, sizes.group,
            sizes.first, sizes.window, sizes.documents, type_name(type));
    REQUIRE(largest_error(out.device_values(), out.host_values()) < 4e-6 + factor * rounding(type));
    REQUIRE(largest_error(dqkv.device_values(), dqkv.host_values()) <
            static_cast<double>(sizes.group) * (2e-5 + 2 * factor * rounding(type)));
    REQUIRE((out.surroundings_are_untouched() && dqkv.surroundings_are_untouched()));
    check_log_sums();
  }

 private:
  template <class Side>
  void run(Attention& attention, const Side& side, const void* begins, float* log_sums,
           Arena& arena) {
    AttentionForm form = c.form();
    if (!document_begin.empty()) form.document_begin = static_cast<const std::int32_t*>(begins);
    const auto part = [&](const Twin& twin, std::size_t which) {
      return c.part(side(twin), which);
    };
    attention.forward({form, part(qkv, 0), part(qkv, 1), part(qkv, 2), side(out), log_sums}, arena);
    attention.backward({form, part(qkv, 0), part(qkv, 1), part(qkv, 2), side(out), log_sums,
                        side(dout), part(dqkv, 0), part(dqkv, 1), part(dqkv, 2)},
                       arena);
  }

  /// The host's by row and head, the GPU's by head and row.
  void check_log_sums() {
    const Values host = log_sum.host_values(), device = log_sum.device_values();
    for (std::size_t sample = 0; sample < c.samples; ++sample) {
      for (std::size_t head = 0; head < c.heads; ++head) {
        for (std::size_t t = 0; t < c.length; ++t) {
          const double expected = host[(sample * c.length + t) * c.heads + head];
          REQUIRE(device[(sample * c.heads + head) * c.length + t] ==
                  Approx(expected).epsilon(1e-5).margin(1e-5));
        }
      }
    }
  }

  std::uint64_t seed = fresh_seed();
};

}  // namespace

TEST_CASE("attention on a GPU by own kernels against the host's") {
  Gpu gpu;
  const auto attention = make_cuda_attention(gpu.device, FusedAttention::own);
  for (const std::vector<AttentionCase>& cases :
       {own_cases, document_cases, whole_cases, capped_cases}) {
    for (const AttentionCase& c : cases) {
      for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
        Run run(gpu, c, type);
        run.run(*attention);
        run.run_host();
        run.check(c, type, 2.0);
      }
    }
  }
}

TEST_CASE("attention by own kernels finds room in the shared memory of every GPU") {
  const int capabilities[][2] = {{7, 5}, {8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {12, 0}};
  for (const auto& [major, minor] : capabilities) {
    be_of_capability(major, minor);
    Gpu gpu;
    const auto attention = make_cuda_attention(gpu.device, FusedAttention::own);
    for (const std::size_t head_size : {64, 112, 128, 248, 256}) {
      const AttentionCase c = {1, 35, 2, head_size};
      CAPTURE(major, minor, head_size);
      Run run(gpu, c, DType::f32);
      run.run(*attention);
      run.run_host();
      run.check(c, DType::f32, 2.0);
    }
  }
  be_of_capability(9, 0);
}

TEST_CASE("attention on a GPU by what is fastest against the host's") {
  Gpu gpu;
  const auto attention = make_cuda_attention(gpu.device);
  for (const DType type : {DType::bf16, DType::f16}) {
    for (const AttentionCase& c : fast_cases) {
      Run run(gpu, c, type, 8);
      run.run(*attention);
      run.run_host();
      run.check(c, type, 4.0);
    }
  }
}

TEST_CASE("attention on a GPU by own kernels gives equal bits and sees nothing that comes later") {
  Gpu gpu;
  const auto attention = make_cuda_attention(gpu.device, FusedAttention::own);
  Run run(gpu, {1, 70, 2, 16}, DType::f32);
  run.run(*attention);
  const TestMatrix out = run.out.fetch(), dqkv = run.dqkv.fetch();
  run.run(*attention);
  REQUIRE(run.out.fetch().bytes() == out.bytes());
  REQUIRE(run.dqkv.fetch().bytes() == dqkv.bytes());
  for (std::size_t c = 0; c < 96; ++c) run.qkv.set(50, c, NAN);
  run.run(*attention);
  const TestMatrix changed = run.out.fetch();
  for (std::size_t t = 0; t < 70; ++t) {
    for (std::size_t c = 0; c < 32; ++c) {
      if (t < 50) REQUIRE(changed.get(t, c) == out.get(t, c));
      if (t >= 50) REQUIRE(std::isnan(changed.get(t, c)));
    }
  }
}
