// Activations and gates against double.
#include <cmath>
#include <functional>
#include <vector>

#include "kernels/bodies/math.hpp"
#include "kernels/kernels.hpp"
#include "kernels/test_matrix.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

struct Reference {
  Activation activation;
  const char* name;
  std::function<double(double)> value, derivative;
};

double tanh_gate(double u) {
  return 0.5 * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (u + 0.044715 * u * u * u)));
}

double gelu_tanh_derivative(double u) {
  const double c = std::sqrt(2.0 / M_PI), t = std::tanh(c * (u + 0.044715 * u * u * u));
  return 0.5 * (1.0 + t) + 0.5 * u * (1.0 - t * t) * c * (1.0 + 3.0 * 0.044715 * u * u);
}

double normal_cdf(double u) { return 0.5 * std::erfc(-u / std::sqrt(2.0)); }
double normal_density(double u) { return std::exp(-0.5 * u * u) / std::sqrt(2.0 * M_PI); }
double sigmoid(double u) { return 1.0 / (1.0 + std::exp(-u)); }

const std::vector<Reference> references{
    {Activation::gelu_tanh, "gelu_tanh", [](double u) { return u * tanh_gate(u); },
     gelu_tanh_derivative},
    {Activation::gelu, "gelu", [](double u) { return u * normal_cdf(u); },
     [](double u) { return normal_cdf(u) + u * normal_density(u); }},
    {Activation::silu, "silu", [](double u) { return u * sigmoid(u); },
     [](double u) { return sigmoid(u) * (1.0 + u * (1.0 - sigmoid(u))); }},
    {Activation::relu, "relu", [](double u) { return u > 0 ? u : 0.0; },
     [](double u) { return u > 0 ? 1.0 : 0.0; }}};

/// A function of every element of some matrices of one size, as values.
Values of_elements(const std::vector<const TestMatrix*>& arguments,
                   const std::function<double(const std::vector<double>&)>& f) {
  const Matrix& size = arguments.front()->matrix();
  Values values;
  for (std::size_t r = 0; r < size.rows; ++r) {
    for (std::size_t c = 0; c < size.columns; ++c) {
      std::vector<double> at;
      for (const TestMatrix* argument : arguments) at.push_back(argument->get(r, c));
      values.push_back(f(at));
    }
  }
  return values;
}

}  // namespace

TEST_CASE("gelu of tanh and its derivative far from zero", "[kernels]") {
  for (const float u : {10.0f, 12.0f, 100.0f, 1e3f, 1e10f, 1e20f, 1e30f}) {
    REQUIRE(kernels::gelu_with_derivative(u).value == u);
    REQUIRE(std::abs(kernels::gelu_with_derivative(-u).value) < 1e-7f);
    REQUIRE(kernels::gelu_with_derivative(u).derivative == Approx(1.0f).margin(1e-6));
    REQUIRE(std::abs(kernels::gelu_with_derivative(-u).derivative) < 1e-6f);
  }
  REQUIRE(kernels::gelu_with_derivative(0.0f).value == 0.0f);
  REQUIRE(kernels::gelu_with_derivative(0.0f).derivative == 0.5f);
}

TEST_CASE("gelu of erf, silu and relu far from zero", "[kernels]") {
  using Function = kernels::ValueWithDerivative (*)(float);
  for (const Function f :
       {Function(kernels::gelu_erf_with_derivative), Function(kernels::silu_with_derivative),
        Function(kernels::relu_with_derivative)}) {
    for (const float u : {100.0f, 1e3f, 1e10f, 1e20f, 1e30f}) {
      REQUIRE(f(u).value == u);
      REQUIRE(std::abs(f(-u).value) < 1e-7f);
      REQUIRE(f(u).derivative == Approx(1.0f).margin(1e-6));
      REQUIRE(std::abs(f(-u).derivative) < 1e-6f);
    }
    REQUIRE(f(0.0f).value == 0.0f);
    REQUIRE(std::isnan(f(NAN).value));
    REQUIRE(std::isnan(f(NAN).derivative));
  }
}

TEST_CASE("gelu of tanh keeps its relative precision where it vanishes", "[kernels]") {
  for (double u = -5.0; u < 0.0; u += 0.0071) {
    const auto argument = static_cast<float>(u);
    const double exact = static_cast<double>(argument);
    const double w = std::sqrt(8.0 / M_PI) * (exact + 0.044715 * exact * exact * exact);
    REQUIRE(kernels::gelu_with_derivative(argument).value ==
            Approx(exact / (1.0 + std::exp(-w))).epsilon(5e-6));
  }
}

TEST_CASE(
    "the normal distribution is within two units in the last place of erf's, and relative where it "
    "vanishes",
    "[kernels]") {
  double upper = 0, lower = 0;
  for (double x = -12.5; x < 9.0; x += 0.000731) {
    const auto u = static_cast<float>(x);
    const double exact = normal_cdf(static_cast<double>(u));
    const double found = static_cast<double>(kernels::normal_distribution(u).cumulative);
    const double error = std::abs(found - exact) / exact;
    // The exponent u^2 / 2 is rounded, and so is e to its power, by as much of itself.
    if (x > -1.0) upper = std::max(upper, error);
    if (x <= -1.0) lower = std::max(lower, error / (2.0 + 0.5 * x * x));
  }
  REQUIRE(upper < 2 * 1.2e-7);
  REQUIRE(lower < 1.2e-7);
}

TEST_CASE("silu keeps its relative precision where it vanishes", "[kernels]") {
  for (double u = -80.0; u < 0.0; u += 0.0171) {
    const auto argument = static_cast<float>(u);
    const double exact = static_cast<double>(argument);
    REQUIRE(kernels::silu_with_derivative(argument).value ==
            Approx(exact * sigmoid(exact)).epsilon(1e-6));
  }
}

TEST_CASE("tanh keeps its relative precision near zero and its derivative far from it",
          "[kernels]") {
  for (double u = -12.0; u < 12.0; u += 0.00071) {
    const auto argument = static_cast<float>(u);
    const double exact = std::tanh(static_cast<double>(argument));
    const double slope = 1.0 / std::pow(std::cosh(static_cast<double>(argument)), 2.0);
    REQUIRE(kernels::tanh_with_derivative(argument).value == Approx(exact).epsilon(3e-7));
    REQUIRE(kernels::tanh_with_derivative(argument).derivative == Approx(slope).epsilon(3e-6));
  }
  for (const float u : {30.0f, 1e10f, INFINITY}) {
    REQUIRE(kernels::tanh_with_derivative(u).value == 1.0f);
    REQUIRE(kernels::tanh_with_derivative(-u).value == -1.0f);
    REQUIRE(kernels::tanh_with_derivative(u).derivative < 1e-6f);
  }
  REQUIRE(kernels::tanh_with_derivative(1e-30f).value == 1e-30f);
  REQUIRE(std::isnan(kernels::tanh_with_derivative(NAN).value));
}

TEST_CASE("activations against double", "[kernels]") {
  for (const Reference& reference : references) {
    for (const DType type : all_types) {
      for (const std::size_t columns : {1, 5, 64, 131}) {
        CAPTURE(reference.name, type_name(type), columns);
        const Activation f = reference.activation;
        TestMatrix u(3, columns, type, 2), dout(3, columns, type, 3), out(3, columns, type, 1),
            du(3, columns, type), again(3, columns, type);
        u.randomise(1, 6.0);
        dout.randomise(2);
        host_kernels().activation_forward(f, u, out);
        host_kernels().activation_backward(f, u, dout, du, again);
        const Values expected =
            of_elements({&u}, [&](const auto& at) { return reference.value(at[0]); });
        const Values gradient = of_elements(
            {&u, &dout}, [&](const auto& at) { return at[1] * reference.derivative(at[0]); });
        REQUIRE(largest_error(out.values(), expected) < 1e-6 + rounding(type));
        REQUIRE(largest_error(du.values(), gradient) < 1e-6 + rounding(type));
        REQUIRE(again.values() == out.values());
        REQUIRE(out.padding_is_untouched());
        host_kernels().activation_backward(f, u, dout, dout, again);
        REQUIRE(dout.values() == du.values());
        u.set(1, columns / 2, NAN);
        host_kernels().activation_forward(f, u, out);
        host_kernels().activation_backward(f, u, du, du, again);
        REQUIRE(std::isnan(out.get(1, columns / 2)));
        REQUIRE(std::isnan(du.get(1, columns / 2)));
        REQUIRE(std::isnan(again.get(1, columns / 2)));
      }
    }
  }
}

namespace {

/// Gates of one size and their gradients, from the same numbers.
struct Gate {
  TestMatrix gate, up, dout, dgate, dup, out;

  Gate(std::size_t columns, DType type)
      : gate(3, columns, type, 2),
        up(3, columns, type, 1),
        dout(3, columns, type, 3),
        dgate(3, columns, type),
        dup(3, columns, type, 4),
        out(3, columns, type, 1) {
    gate.randomise(1, 6.0);
    up.randomise(2, 2.0);
    dout.randomise(3);
  }
};

void check_gate(const Reference& reference, DType type, std::size_t columns) {
  const Activation f = reference.activation;
  Gate g(columns, type);
  TestMatrix again(3, columns, type);
  host_kernels().gate_forward(f, g.gate, g.up, g.out);
  host_kernels().gate_backward({f, g.gate, g.up, g.dout, g.dgate, g.dup, again});
  const auto all = [&](const auto& result) {
    return of_elements({&g.gate, &g.up, &g.dout}, result);
  };
  const Values out = all([&](const auto& at) { return reference.value(at[0]) * at[1]; });
  const Values dgate =
      all([&](const auto& at) { return at[2] * at[1] * reference.derivative(at[0]); });
  const Values dup = all([&](const auto& at) { return at[2] * reference.value(at[0]); });
  REQUIRE(largest_error(g.out.values(), out) < 1e-6 + rounding(type));
  REQUIRE(largest_error(g.dgate.values(), dgate) < 2e-6 + rounding(type));
  REQUIRE(largest_error(g.dup.values(), dup) < 1e-6 + rounding(type));
  REQUIRE(again.values() == g.out.values());
  REQUIRE((g.out.padding_is_untouched() && g.dup.padding_is_untouched()));
  Gate same(columns, type);
  host_kernels().gate_backward({f, same.gate, same.up, same.dout, same.gate, same.up, same.dout});
  REQUIRE(same.gate.values() == g.dgate.values());
  REQUIRE(same.up.values() == g.dup.values());
  REQUIRE(same.dout.values() == g.out.values());
  Gate forward(columns, type);
  host_kernels().gate_forward(f, forward.gate, forward.up, forward.up);
  REQUIRE(forward.up.values() == g.out.values());
}

}  // namespace

TEST_CASE("gates against double, also in place of their arguments", "[kernels]") {
  for (const Reference& reference : references) {
    for (const DType type : all_types) {
      for (const std::size_t columns : {1, 5, 64, 131}) {
        CAPTURE(reference.name, type_name(type), columns);
        check_gate(reference, type, columns);
      }
    }
  }
}

TEST_CASE("a NaN in any argument of a gate comes out of what depends on it", "[kernels]") {
  for (const Reference& reference : references) {
    CAPTURE(reference.name);
    Gate g(40, DType::f32);
    g.gate.set(0, 7, NAN);
    g.up.set(1, 8, NAN);
    g.dout.set(2, 9, NAN);
    host_kernels().gate_backward(
        {reference.activation, g.gate, g.up, g.dout, g.dgate, g.dup, g.out});
    REQUIRE((std::isnan(g.dgate.get(0, 7)) && std::isnan(g.dup.get(0, 7)) &&
             std::isnan(g.out.get(0, 7))));
    REQUIRE((std::isnan(g.dgate.get(1, 8)) && std::isfinite(g.dup.get(1, 8)) &&
             std::isnan(g.out.get(1, 8))));
    REQUIRE((std::isnan(g.dgate.get(2, 9)) && std::isnan(g.dup.get(2, 9)) &&
             std::isfinite(g.out.get(2, 9))));
  }
}
