// Attention on a GPU to the rows of something else, to some of the keys, and with a bias by
// distance, against that of the host.
#include "cuda/attention.hpp"
#include "cuda/twin.hpp"
#include "kernels/attention_form_case.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

using Case = AttentionFormCase;

/// Larger heads have smaller tiles.
const std::vector<Case> large_heads = {{2, 33, 18, 2, 136, false, true, {17, 18}},
                                       {1, 70, 70, 1, 136, true, true, {}, 1, 0.1},
                                       {1, 40, 90, 2, 72, false, true, {}, 2, 0.1}};

/// Source and rows of equal and of unequal lengths, below and above whole tiles; key heads that are
/// shared.
const std::vector<Case> fast_forms = {{2, 64, 128, 3, 64},
                                      {1, 130, 70, 2, 64},
                                      {2, 33, 97, 2, 16},
                                      {2, 97, 48, 2, 32},
                                      {1, 49, 145, 4, 24, false, false, {}, 2, 0.3}};

enum class RowEnds {
  aligned,  ///< rows begin at multiples of 16 bytes, and those of gradients lie as far apart as
            ///< those of values
  uneven
};

/// Buffers of one forward and backward pass on both sides.
struct Run {
  Gpu& gpu;
  Case c;
  std::size_t unit, more;  ///< elements behind the rows of values, and how many more behind those
                           ///< of gradients
  DeviceValues<std::int32_t> seen;
  Twin q, k, v, out, log_sum, dout, dq, dk, dv, bias, dbias;

  Run(Gpu& one, const Case& of, DType type, std::uint64_t seed, RowEnds ends = RowEnds::uneven)
      : gpu(one),
        c(of),
        unit(ends == RowEnds::aligned ? 8 : 1),
        more(ends == RowEnds::aligned ? 0 : 1),
        seen(gpu, c.seen.empty() ? std::vector<std::int32_t>{0} : c.seen),
        q(gpu, c.rows(), c.width(), type, {3 * unit, 0}),
        k(gpu, c.key_rows(), c.key_width(), type, {unit, 0}),
        v(gpu, c.key_rows(), c.key_width(), type),
        out(gpu, c.rows(), c.width(), type, {unit, 0}),
        log_sum(gpu, c.rows(), c.heads),
        dout(gpu, c.rows(), c.width(), type, {unit + more, 0}),
        dq(gpu, c.rows(), c.width(), type, {3 * unit + 2 * more, 0}),
        dk(gpu, c.key_rows(), c.key_width(), type, {unit + more, 0}),
        dv(gpu, c.key_rows(), c.key_width(), type),
        bias(gpu, c.heads, c.distances()),
        dbias(gpu, c.heads, c.distances()) {
    q.randomise(seed), k.randomise(seed + 1), v.randomise(seed + 2), dout.randomise(seed + 3);
    bias.randomise(seed + 4), dbias.randomise(seed + 5);
  }

  void run(Attention& attention) {
    const AttentionForm form = c.form(seen.data(), bias.device_f32(), dbias.device_f32());
    run(
        attention, form, [](const Twin& twin) { return twin.device(); }, gpu.arena);
  }
  void run_host() {
    Arena arena;
    const AttentionForm form = c.form(c.seen.data(), bias.host_f32(), dbias.host_f32());
    run(
        host_attention(), form, [](const Twin& twin) { return twin.host(); }, arena);
  }

 private:
  template <class Side>
  void run(Attention& attention, const AttentionForm& form, const Side& side, Arena& arena) {
    attention.forward({form, side(q), side(k), side(v), side(out), side(log_sum).f32()}, arena);
    attention.backward({form, side(q), side(k), side(v), side(out), side(log_sum).f32(), side(dout),
                        side(dq), side(dk), side(dv)},
                       arena);
  }
};

void check(Gpu& gpu, Attention& attention, const std::vector<Case>& cases) {
  const std::uint64_t seed = fresh_seed();
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    for (const Case& c : cases) {
      CAPTURE(seed, type_name(type), c.samples, c.queries, c.keys, c.heads, c.head_size, c.causal,
              c.biased, c.seen);
      Run run(gpu, c, type, seed), again(gpu, c, type, seed);
      run.run(attention);
      again.run(attention);
      run.run_host();
      const double bound =
          static_cast<double>(c.group) * std::max(1.0, c.scale) * (2e-5 + 4 * rounding(type));
      const double of_keys =
          bound * std::max(1.0, static_cast<double>(c.queries) / static_cast<double>(c.keys));
      REQUIRE(largest_error(run.out.device_values(), run.out.host_values()) <
              4e-6 + 2 * rounding(type));
      REQUIRE(largest_error(run.dq.device_values(), run.dq.host_values()) < bound);
      REQUIRE(largest_error(run.dk.device_values(), run.dk.host_values()) < of_keys);
      REQUIRE(largest_error(run.dv.device_values(), run.dv.host_values()) < of_keys);
      REQUIRE(largest_error(run.dbias.device_values(), run.dbias.host_values()) <
              static_cast<double>(c.rows()) * (1e-6 + rounding(type)));
      for (const auto part : {&Run::out, &Run::dq, &Run::dk, &Run::dv, &Run::dbias}) {
        REQUIRE((run.*part).surroundings_are_untouched());
        REQUIRE((run.*part).fetch().bytes() == (again.*part).fetch().bytes());
      }
    }
  }
}

}  // namespace

TEST_CASE("attention of other forms on a GPU against the host's") {
  Gpu gpu;
  const auto attention = make_cuda_attention(gpu.device);
  for (const auto& cases : {crossed_forms, biased_forms, partly_seen_forms, large_heads})
    check(gpu, *attention, cases);
}

TEST_CASE("attention to the rows of something else by what is fastest against the host's") {
  Gpu gpu;
  const auto attention = make_cuda_attention(gpu.device);
  const std::uint64_t seed = fresh_seed();
  for (const DType type : {DType::bf16, DType::f16}) {
    for (const Case& c : fast_forms) {
      CAPTURE(seed, type_name(type), c.samples, c.queries, c.keys, c.heads, c.head_size);
      Run run(gpu, c, type, seed, RowEnds::aligned);
      run.run(*attention);
      run.run_host();
      // Probabilities may be rounded to the type before they multiply values.
      const double bound = static_cast<double>(c.group) * (2e-5 + 8 * rounding(type));
      const double of_keys =
          bound * std::max(1.0, static_cast<double>(c.queries) / static_cast<double>(c.keys));
      REQUIRE(largest_error(run.out.device_values(), run.out.host_values()) <
              4e-6 + 4 * rounding(type));
      REQUIRE(largest_error(run.dq.device_values(), run.dq.host_values()) < bound);
      REQUIRE(largest_error(run.dk.device_values(), run.dk.host_values()) < of_keys);
      REQUIRE(largest_error(run.dv.device_values(), run.dv.host_values()) < of_keys);
      for (const auto part : {&Run::out, &Run::dq, &Run::dk, &Run::dv}) {
        REQUIRE((run.*part).surroundings_are_untouched());
      }
    }
  }
}

TEST_CASE("a GPU's attention does not read keys that are not seen") {
  Gpu gpu;
  const auto attention = make_cuda_attention(gpu.device);
  const Case c = {2, 18, 33, 2, 16, false, false, {20, 32}};
  Run run(gpu, c, DType::f32, 1), changed(gpu, c, DType::f32, 1);
  for (std::size_t column = 0; column < 32; ++column) {
    for (const std::size_t row : {20, 32, 65})
      changed.k.set(row, column, NAN), changed.v.set(row, column, NAN);
  }
  run.run(*attention);
  changed.run(*attention);
  REQUIRE(changed.out.fetch().bytes() == run.out.fetch().bytes());
  REQUIRE(changed.dq.fetch().bytes() == run.dq.fetch().bytes());
  const TestMatrix dk = run.dk.fetch(), dv = run.dv.fetch();
  for (std::size_t column = 0; column < 32; ++column) {
    REQUIRE(dk.get(20, column) == 0.0);
    REQUIRE(dv.get(65, column) == 0.0);
    REQUIRE(dk.get(19, column) != 0.0);
  }
}

TEST_CASE("columns of a table on a GPU, bit for bit those of the host") {
  Gpu gpu;
  const std::vector<std::int32_t> source = {3, 0, 0, 2, 3, 3, 1, 0, 2};
  const DeviceValues<std::int32_t> of_device(gpu, source);
  Twin table(gpu, 3, 5), all(gpu, 3, source.size(), DType::f32, {2, 0}), back(gpu, 3, 5);
  table.randomise(fresh_seed());
  gpu.kernels.spread_columns(table.device(), of_device.data(), all.device());
  host_kernels().spread_columns(table.host(), source.data(), all.host());
  REQUIRE(all.same_bytes());
  for (std::size_t c = 0; c < source.size(); ++c) {
    REQUIRE(all.fetch().get(1, c) == table.fetch().get(1, static_cast<std::size_t>(source[c])));
  }
  gpu.kernels.collect_columns(all.device(), of_device.data(), back.device());
  host_kernels().collect_columns(all.host(), source.data(), back.host());
  REQUIRE(back.same_bytes());
  REQUIRE(back.fetch().get(2, 0) == Approx(3 * table.fetch().get(2, 0)));
  REQUIRE(back.fetch().get(2, 4) == 0.0);
}
