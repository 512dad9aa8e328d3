#include <cmath>

#include "kernels/bodies/update_steps.hpp"
#include "kernels/test_matrix.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

constexpr AdamWStep adamw_step{3e-3f, 0.9f, 0.95f, 1e-8f, 0.7f, 0.271f, 0.142625f};
constexpr float weight_decay = 0.1f;

/// The update in double, of the values before it.
void adamw_reference(Values& p, const Values& gradient, Values& m, Values& v) {
  const auto& s = adamw_step;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double g = gradient[i] * double(s.gradient_scale);
    m[i] = double(s.beta1) * m[i] + (1.0 - double(s.beta1)) * g;
    v[i] = double(s.beta2) * v[i] + (1.0 - double(s.beta2)) * g * g;
    p[i] *= 1.0 - double(s.learning_rate) * double(weight_decay);
    p[i] -= double(s.learning_rate) / double(s.bias_correction1) * m[i] /
            (std::sqrt(v[i]) / std::sqrt(double(s.bias_correction2)) + double(s.epsilon));
  }
}

}  // namespace

TEST_CASE("AdamW against double, with and without a copy in 16 bits", "[kernels]") {
  for (const DType type : all_types) {
    for (const std::size_t n : {1, 7, 64, 4096, 5003}) {
      CAPTURE(type_name(type), n);
      TestMatrix p(1, n, DType::f32, 8), g(1, n), m(1, n, DType::f32, 8), v(1, n, DType::f32, 8),
          copy(1, n, type, 8);
      p.randomise(1);
      g.randomise(2);
      m.randomise(3, 0.1);
      v.randomise(4, 0.05, 0.05);
      Values expected = p.values(), expected_m = m.values(), expected_v = v.values();
      adamw_reference(expected, g.values(), expected_m, expected_v);
      const UpdateRun run{
          p.f32(), g.f32(),     m.f32(), v.f32(), type == DType::f32 ? Matrix() : copy.matrix(),
          n,       weight_decay};
      REQUIRE(host_kernels().update(&run, 1, adamw_step) == 1);
      REQUIRE(largest_error(m.values(), expected_m) < 2e-7);
      REQUIRE(largest_error(v.values(), expected_v) < 2e-7);
      REQUIRE(largest_error(p.values(), expected) < 3e-7);
      REQUIRE((p.padding_is_untouched() && m.padding_is_untouched() && v.padding_is_untouched()));
      REQUIRE(copy.padding_is_untouched());
      for (std::size_t i = 0; i < n && type != DType::f32; ++i) {
        REQUIRE(copy.get(0, i) == rounded(p.get(0, i), type));
      }
    }
  }
}

TEST_CASE("AdamW with a zero gradient and fresh moments only decays", "[kernels]") {
  TestMatrix p(1, 9), g(1, 9), m(1, 9), v(1, 9);
  p.randomise(1);
  for (TestMatrix* zero : {&g, &m, &v}) zero->randomise(1, 0.0);
  const Values before = p.values();
  const UpdateRun run{p.f32(), g.f32(), m.f32(), v.f32(), Matrix(), 9, weight_decay};
  host_kernels().update(&run, 1, adamw_step);
  for (std::size_t i = 0; i < 9; ++i)
    REQUIRE(p.get(0, i) == Approx(before[i] * (1.0 - 3e-4)).epsilon(1e-6));
}

TEST_CASE("a NaN in the gradient reaches the parameter", "[kernels]") {
  TestMatrix p(1, 9), g(1, 9), m(1, 9), v(1, 9);
  for (TestMatrix* x : {&p, &g, &m}) x->randomise(1);
  v.randomise(2, 0.1, 0.2);
  g.set(0, 5, NAN);
  const UpdateRun plain{p.f32(), g.f32(), nullptr, nullptr, Matrix(), 9, 0.0f};
  host_kernels().update(&plain, 1, SgdStep{0.1f, 1.0f});
  REQUIRE(std::isnan(p.get(0, 5)));
  p.randomise(1);
  const UpdateRun run{p.f32(), g.f32(), m.f32(), v.f32(), Matrix(), 9, weight_decay};
  host_kernels().update(&run, 1, adamw_step);
  REQUIRE(std::isnan(p.get(0, 5)));
  REQUIRE(std::isfinite(p.get(0, 4)));
}

namespace {

/// Runs `step` over 77 elements, with and without a copy in 16 bits, and `reference(p, g, m)` in
/// double.
template <class Step, class Reference>
void check_against_double(const Step& step, const Reference& reference) {
  for (const DType type : all_types) {
    CAPTURE(type_name(type));
    TestMatrix p(1, 77, DType::f32, 3), g(1, 77), m(1, 77), copy(1, 77, type, 3);
    p.randomise(1);
    g.randomise(2);
    m.randomise(3, 0.1);
    Values expected = p.values(), expected_m = m.values();
    for (std::size_t i = 0; i < 77; ++i) reference(expected[i], g.get(0, i), expected_m[i]);
    const UpdateRun run{
        p.f32(), g.f32(),     m.f32(), nullptr, type == DType::f32 ? Matrix() : copy.matrix(),
        77,      weight_decay};
    REQUIRE(step(&run) == 1);
    REQUIRE(largest_error(p.values(), expected) < 3e-7);
    REQUIRE(largest_error(m.values(), expected_m) < 3e-7);
    for (std::size_t i = 0; i < 77 && type != DType::f32; ++i) {
      REQUIRE(copy.get(0, i) == rounded(p.get(0, i), type));
    }
    REQUIRE((p.padding_is_untouched() && copy.padding_is_untouched()));
  }
}

}  // namespace

TEST_CASE("SGD against double, with and without momentum", "[kernels]") {
  for (const float momentum : {0.0f, 0.9f}) {
    for (const bool nesterov : {false, true}) {
      CAPTURE(momentum, nesterov);
      const UpdateStep step = momentum == 0.0f
                                  ? UpdateStep(SgdStep{0.01f, 0.5f})
                                  : UpdateStep(MomentumStep{0.01f, momentum, 0.5f, nesterov});
      check_against_double(
          [&](const UpdateRun* run) { return host_kernels().update(run, 1, step); },
          [&](double& p, double gradient, double& buffer) {
            const double mu = momentum;
            const double g = 0.5 * gradient + double(weight_decay) * p;
            if (momentum != 0.0f) buffer = mu * buffer + g;
            const double plain = momentum != 0.0f ? buffer : g;
            p -= double(0.01f) * (nesterov && momentum != 0.0f ? g + mu * buffer : plain);
          });
    }
  }
}

TEST_CASE("Lion against double", "[kernels]") {
  const LionStep step{0.01f, 0.9f, 0.99f, 0.5f};
  check_against_double([&](const UpdateRun* run) { return host_kernels().update(run, 1, step); },
                       [&](double& p, double gradient, double& m) {
                         const double g = 0.5 * gradient;
                         const double c = double(0.9f) * m + (1.0 - double(0.9f)) * g;
                         p = p * (1.0 - double(0.01f) * double(weight_decay)) -
                             double(0.01f) * (c > 0.0 ? 1.0 : -1.0);
                         m = double(0.99f) * m + (1.0 - double(0.99f)) * g;
                       });
}
