#include <vector>

#include "cuda/twin.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

struct Size {
  std::size_t rows, columns;
};
// Rows of a warp, of a small block and of a large one; a warp's rows that end within a block of
// four. Rows that a norm keeps in the registers of a block, of one chunk and of several, and the
// first that do not fit.
const std::vector<Size> sizes{{1, 1},    {3, 5},    {17, 33}, {35, 770}, {6, 3001},
                              {2, 9000}, {41, 768}, {9, 16},  {5, 4096}, {3, 4104}};

/// How far two sums of n values of about one may be apart: each is formed in at most n roundings on
/// the way.
double sum_bound(std::size_t n) { return 1.2e-7 * static_cast<double>(n) + 1e-6; }

/// f(size, layout, seed) for all sizes, aligned or not.
template <class F>
void with_all(const F& f) {
  const std::uint64_t seed = fresh_seed();
  for (const Size size : sizes) {
    for (const Layout layout : {Layout{0, 0}, Layout{7, 0}, Layout{5, 1}}) {
      CAPTURE(size.rows, size.columns, layout.padding, layout.shift, seed);
      f(size, layout, seed);
    }
  }
}

std::vector<std::int32_t> some_targets(std::size_t rows, std::size_t classes, std::uint64_t seed) {
  std::vector<std::int32_t> targets;
  for (std::size_t r = 0; r < rows; ++r)
    targets.push_back(static_cast<std::int32_t>((r * 7919 + seed) % classes));
  return targets;
}

}  // namespace

TEST_CASE("the GPU normalises rows as the host", "[cuda]") {
  Gpu gpu;
  with_all([&](Size size, Layout layout, std::uint64_t seed) {
    for (const DType type : all_types) {
      for (const bool with_y : {true, false}) {
        CAPTURE(type_name(type), with_y);
        Twin x(gpu, size.rows, size.columns, DType::f32, layout), y(gpu, size.rows, size.columns),
            bias(gpu, 1, size.columns), sum(gpu, size.rows, size.columns, DType::f32, layout),
            gain(gpu, 1, size.columns), offset(gpu, 1, size.columns),
            normalised(gpu, size.rows, size.columns, type, layout), mean(gpu, 1, size.rows),
            rstd(gpu, 1, size.rows);
        x.randomise(seed, 2.0, 1.0);
        y.randomise(seed + 1);
        bias.randomise(seed + 2);
        gain.randomise(seed + 3);
        offset.randomise(seed + 4);
        const Matrix none;
        host_kernels().residual_norm_forward({{},
                                              x.host(),
                                              with_y ? y.host() : none,
                                              with_y ? bias.host_f32() : nullptr,
                                              with_y ? sum.host() : none,
                                              gain.host_f32(),
                                              offset.host_f32(),
                                              normalised.host(),
                                              mean.host_f32(),
                                              rstd.host_f32()});
        gpu.kernels.residual_norm_forward({{},
                                           x.device(),
                                           with_y ? y.device() : none,
                                           with_y ? bias.device_f32() : nullptr,
                                           with_y ? sum.device() : none,
                                           gain.device_f32(),
                                           offset.device_f32(),
                                           normalised.device(),
                                           mean.device_f32(),
                                           rstd.device_f32()});
        REQUIRE(sum.same_bytes());
        REQUIRE(normalised.surroundings_are_untouched());
        // Means of values of about one; of one column, the variance is what rounding leaves.
        const double bound = 4 * sum_bound(size.columns) / static_cast<double>(size.columns) + 4e-6;
        REQUIRE(largest_error(mean.device_values(), mean.host_values()) < bound);
        if (size.columns == 1) continue;
        REQUIRE(largest_error(rstd.device_values(), rstd.host_values()) < bound);
        REQUIRE(largest_error(normalised.device_values(), normalised.host_values()) <
                4 * bound + 2 * rounding(type));
      }
    }
  });
}

TEST_CASE("the GPU goes back through a normalisation as the host", "[cuda]") {
  Gpu gpu;
  with_all([&](Size size, Layout layout, std::uint64_t seed) {
    for (const DType type : all_types) {
      for (const bool with_residual : {true, false}) {
        CAPTURE(type_name(type), with_residual);
        Twin d(gpu, size.rows, size.columns, type, layout),
            x(gpu, size.rows, size.columns, DType::f32, layout),
            residual(gpu, size.rows, size.columns),
            dx(gpu, size.rows, size.columns, DType::f32, layout),
            normalised(gpu, size.rows, size.columns, type, layout), gain(gpu, 1, size.columns),
            offset(gpu, 1, size.columns), dgain(gpu, 1, size.columns),
            doffset(gpu, 1, size.columns), mean(gpu, 1, size.rows), rstd(gpu, 1, size.rows);
        for (Twin* input : {&d, &x, &residual, &gain, &offset, &dgain, &doffset})
          input->randomise(++seed);
        mean.randomise(seed + 1, 0.1);
        rstd.randomise(seed + 2, 0.2, 1.5);
        const Matrix none;
        host_kernels().norm_backward({{},
                                      d.host(),
                                      x.host(),
                                      mean.host_f32(),
                                      rstd.host_f32(),
                                      gain.host_f32(),
                                      offset.host_f32(),
                                      with_residual ? residual.host() : none,
                                      dx.host(),
                                      dgain.host_f32(),
                                      doffset.host_f32(),
                                      normalised.host()});
        gpu.kernels.norm_backward({{},
                                   d.device(),
                                   x.device(),
                                   mean.device_f32(),
                                   rstd.device_f32(),
                                   gain.device_f32(),
                                   offset.device_f32(),
                                   with_residual ? residual.device() : none,
                                   dx.device(),
                                   dgain.device_f32(),
                                   doffset.device_f32(),
                                   normalised.device()});
        const double bound = 4 * sum_bound(size.columns) / static_cast<double>(size.columns) + 4e-6;
        REQUIRE(largest_error(dx.device_values(), dx.host_values()) < bound);
        REQUIRE(largest_error(normalised.device_values(), normalised.host_values()) <
                4e-6 + 2 * rounding(type));
        REQUIRE(largest_error(dgain.device_values(), dgain.host_values()) <
                4 * sum_bound(size.rows));
        REQUIRE(largest_error(doffset.device_values(), doffset.host_values()) <
                sum_bound(size.rows));
        REQUIRE((dx.surroundings_are_untouched() && normalised.surroundings_are_untouched()));
      }
    }
  });
}

TEST_CASE("the GPU's cross-entropy over shards of the vocabulary is the host's", "[cuda]") {
  Gpu gpu;
  with_all([&](Size size, Layout layout, std::uint64_t seed) {
    for (const DType type : all_types) {
      CAPTURE(type_name(type));
      const std::size_t first = size.columns / 3;  // of the shard; some targets lie in others
      const DeviceValues<std::int32_t> targets(gpu,
                                               some_targets(size.rows, 2 * size.columns, seed));
      const std::vector<std::int32_t> host_targets = targets.fetch();
      Twin logits(gpu, size.rows, size.columns, type, layout), largest(gpu, 1, size.rows),
          sum(gpu, 1, size.rows), target(gpu, 1, size.rows);
      logits.randomise(seed, 10.0, 200.0);
      DeviceValues<double> loss(gpu, {0.5});
      double host_loss = 0.5;
      const auto offset = static_cast<std::int64_t>(first);
      // Plain targets on some sizes, smoothed ones on the others.
      const float uniform = size.rows % 2 == 0 ? 0.0f : 0.1f / static_cast<float>(size.columns);
      const Targets on_host = {host_targets.data(), offset, 0.9f, uniform},
                    on_gpu = {targets.data(), offset, 0.9f, uniform};
      host_kernels().cross_entropy_max(logits.host(), largest.host_f32());
      gpu.kernels.cross_entropy_max(logits.device(), largest.device_f32());
      REQUIRE(largest.same_bytes());
      host_kernels().cross_entropy_sum(logits.host(), on_host, largest.host_f32(), sum.host_f32(),
                                       target.host_f32());
      gpu.kernels.cross_entropy_sum(logits.device(), on_gpu, largest.device_f32(), sum.device_f32(),
                                    target.device_f32());
      if (uniform == 0.0f) REQUIRE(target.same_bytes());
      const Twin largest_at_once(gpu, 1, size.rows), sum_at_once(gpu, 1, size.rows),
          target_at_once(gpu, 1, size.rows);
      gpu.kernels.cross_entropy_statistics(logits.device(), on_gpu, largest_at_once.device_f32(),
                                           sum_at_once.device_f32(), target_at_once.device_f32());
      REQUIRE(largest_at_once.fetch().bytes() == largest.fetch().bytes());
      REQUIRE(largest_error(sum_at_once.device_values(), sum.host_values()) <
              sum_bound(size.columns));
      if (uniform == 0.0f) REQUIRE(target_at_once.fetch().bytes() == target.fetch().bytes());
      REQUIRE(largest_error(target_at_once.device_values(), target.host_values()) <
              sum_bound(size.columns));
      REQUIRE(largest_error(target.device_values(), target.host_values()) <
              sum_bound(size.columns));
      REQUIRE(largest_error(sum.device_values(), sum.host_values()) < sum_bound(size.columns));
      host_kernels().cross_entropy_loss(largest.host_f32(), sum.host_f32(), target.host_f32(),
                                        size.rows, &host_loss, 1e-4);
      gpu.kernels.cross_entropy_loss(largest.device_f32(), sum.device_f32(), target.device_f32(),
                                     size.rows, loss.data(), 1e-4);
      REQUIRE(loss.fetch()[0] == Approx(host_loss).epsilon(1e-6));
      const LossGradient form = {0.125f, 1e-4f};
      host_kernels().cross_entropy_gradient(logits.host(), on_host, largest.host_f32(),
                                            sum.host_f32(), form);
      gpu.kernels.cross_entropy_gradient(logits.device(), on_gpu, largest.device_f32(),
                                         sum.device_f32(), form);
      REQUIRE(largest_error(logits.device_values(), logits.host_values()) <
              sum_bound(size.columns) + rounding(type));
      REQUIRE(logits.surroundings_are_untouched());
      Twin all(gpu, size.rows, size.columns, type, layout);
      all.randomise(seed, 10.0, 200.0);
      gpu.kernels.cross_entropy_at_once(all.device(), on_gpu, largest.device_f32(),
                                        sum.device_f32(), target.device_f32(), form);
      REQUIRE(largest.same_bytes());
      REQUIRE(largest_error(sum.device_values(), sum.host_values()) < sum_bound(size.columns));
      REQUIRE(largest_error(target.device_values(), target.host_values()) <
              sum_bound(size.columns));
      REQUIRE(largest_error(all.device_values(), logits.host_values()) <
              sum_bound(size.columns) + rounding(type));
      REQUIRE(all.surroundings_are_untouched());
    }
  });
}

TEST_CASE("the GPU holds logits within a cap as the host, and so does their gradient", "[cuda]") {
  Gpu gpu;
  constexpr float cap = 4.0f;
  with_all([&](Size size, Layout layout, std::uint64_t seed) {
    for (const DType type : all_types) {
      CAPTURE(type_name(type));
      const DeviceValues<std::int32_t> targets(gpu, some_targets(size.rows, size.columns, seed));
      const std::vector<std::int32_t> host_targets = targets.fetch();
      Twin logits(gpu, size.rows, size.columns, type, layout), largest(gpu, 1, size.rows),
          sum(gpu, 1, size.rows);
      const Twin target(gpu, 1, size.rows);
      logits.randomise(seed, 3.0, 1.0);
      host_kernels().soft_cap(logits.host(), cap);
      gpu.kernels.soft_cap(logits.device(), cap);
      REQUIRE(largest_error(logits.device_values(), logits.host_values()) < 1e-6 + rounding(type));
      host_kernels().cross_entropy_statistics(logits.host(), Targets{host_targets.data()},
                                              largest.host_f32(), sum.host_f32(),
                                              target.host_f32());
      gpu.kernels.cross_entropy_statistics(logits.device(), Targets{targets.data()},
                                           largest.device_f32(), sum.device_f32(),
                                           target.device_f32());
      const LossGradient form = {0.125f, 0.0f, cap};
      host_kernels().cross_entropy_gradient(logits.host(), Targets{host_targets.data()},
                                            largest.host_f32(), sum.host_f32(), form);
      gpu.kernels.cross_entropy_gradient(logits.device(), Targets{targets.data()},
                                         largest.device_f32(), sum.device_f32(), form);
      REQUIRE(largest_error(logits.device_values(), logits.host_values()) <
              sum_bound(size.columns) + 2 * rounding(type));
      REQUIRE(logits.surroundings_are_untouched());
    }
  });
}

TEST_CASE("the GPU's cross-entropy over a whole vocabulary, twice the same bits", "[cuda]") {
  Gpu gpu;
  std::vector<std::vector<std::byte>> gradients;
  for (int time = 0; time < 2; ++time) {
    Twin logits(gpu, 2, 50257, DType::f32, {3, 0}), largest(gpu, 1, 2), sum(gpu, 1, 2),
        target(gpu, 1, 2);
    logits.randomise(7, 5.0);
    const DeviceValues<std::int32_t> targets(gpu, {50256, 3});
    gpu.kernels.cross_entropy_max(logits.device(), largest.device_f32());
    gpu.kernels.cross_entropy_sum(logits.device(), Targets{targets.data()}, largest.device_f32(),
                                  sum.device_f32(), target.device_f32());
    gpu.kernels.cross_entropy_gradient(logits.device(), Targets{targets.data()},
                                       largest.device_f32(), sum.device_f32(), {});
    gradients.push_back(logits.fetch().bytes());
    double total = 0;
    for (const double g : logits.device_values()) total += g;
    REQUIRE(std::abs(total) < 2 * sum_bound(50257));  // a softmax less one is zero in sum
  }
  REQUIRE(gradients[0] == gradients[1]);
}

TEST_CASE("a NaN in a row comes out of it on the GPU, and of no other row", "[cuda]") {
  Gpu gpu;
  for (const std::size_t columns : {40, 3000}) {
    for (const std::size_t place : {std::size_t{0}, columns / 2, columns - 1}) {
      CAPTURE(columns, place);
      Twin logits(gpu, 3, columns), largest(gpu, 1, 3), sum(gpu, 1, 3), target(gpu, 1, 3),
          normalised(gpu, 3, columns), gain(gpu, 1, columns), mean(gpu, 1, 3), rstd(gpu, 1, 3);
      logits.randomise(1);
      gain.randomise(2);
      logits.set(1, place, NAN);
      const DeviceValues<std::int32_t> targets(gpu, {0, 0, 0});
      gpu.kernels.residual_norm_forward({{},
                                         logits.device(),
                                         Matrix(),
                                         nullptr,
                                         Matrix(),
                                         gain.device_f32(),
                                         gain.device_f32(),
                                         normalised.device(),
                                         mean.device_f32(),
                                         rstd.device_f32()});
      gpu.kernels.cross_entropy_max(logits.device(), largest.device_f32());
      gpu.kernels.cross_entropy_sum(logits.device(), Targets{targets.data()}, largest.device_f32(),
                                    sum.device_f32(), target.device_f32());
      gpu.kernels.cross_entropy_gradient(logits.device(), Targets{targets.data()},
                                         largest.device_f32(), sum.device_f32(), {});
      for (std::size_t r = 0; r < 3; ++r) {
        REQUIRE(std::isfinite(largest.device_values()[r]));
        REQUIRE(std::isnan(sum.device_values()[r]) == (r == 1));
        REQUIRE(std::isnan(logits.device_values()[r * columns + place]) == (r == 1));
        REQUIRE(std::isnan(normalised.device_values()[r * columns]) == (r == 1));
      }
    }
  }
}
