// RMSNorm and the forms of LayerNorm that GPT-2 does not have, against double.
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/kernels.hpp"
#include "kernels/test_matrix.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

struct Case {
  NormForm form;
  bool has_offset;
  std::size_t rows, columns;
};
const std::vector<Case> cases{{{NormKind::rms, 1e-6f, false}, false, 17, 33},
                              {{NormKind::rms, 1e-5f, true}, false, 3, 80},
                              {{NormKind::rms, 0.5f, false}, false, 35, 770},
                              {{NormKind::rms, 1e-6f, false}, false, 70, 16},
                              {{NormKind::layer, 1e-12f, false}, false, 9, 24},
                              {{NormKind::layer, 0.25f, true}, true, 16, 256},
                              {{NormKind::layer, 1e-5f, false}, true, 5, 41}};

/// One row in double: the norm and its backward pass, written from the definition.
struct Row {
  std::vector<double> hat;
  double mean = 0, rstd = 0;
  bool is_layer;

  Row(const NormForm& form, const std::vector<double>& x)
      : hat(x.size()), is_layer(form.kind == NormKind::layer) {
    const auto n = static_cast<double>(x.size());
    for (const double v : x) mean += is_layer ? v / n : 0.0;
    double variance = 0;
    for (const double v : x) variance += (v - mean) * (v - mean) / n;
    rstd = 1.0 / std::sqrt(variance + static_cast<double>(form.epsilon));
    for (std::size_t c = 0; c < x.size(); ++c) hat[c] = (x[c] - mean) * rstd;
  }

  /// d loss / dx given g = d loss / dhat: through x itself, through the mean, through rstd.
  std::vector<double> backward(const std::vector<double>& g) const {
    const auto n = static_cast<double>(hat.size());
    double of_mean = 0, of_rstd = 0;
    for (std::size_t c = 0; c < hat.size(); ++c) {
      of_mean += is_layer ? g[c] / n : 0.0;
      of_rstd += g[c] * hat[c] / n;
    }
    std::vector<double> dx(hat.size());
    for (std::size_t c = 0; c < hat.size(); ++c) dx[c] = rstd * (g[c] - of_mean - hat[c] * of_rstd);
    return dx;
  }
};

/// Buffers of both passes; x and dx of one type, the gradient and the output of others.
struct Run {
  Case c;
  TestMatrix x, y, bias, sum, gain, offset, normalised, mean, rstd;
  TestMatrix dnormalised, residual, dx, dgain, doffset, again;

  Run(const Case& sizes, DType x_type, DType gradient_type, DType type)
      : c(sizes),
        x(c.rows, c.columns, x_type, 3),
        y(c.rows, c.columns, DType::f32, 1),
        bias(1, c.columns),
        sum(c.rows, c.columns, x_type, 2),
        gain(1, c.columns),
        offset(1, c.columns),
        normalised(c.rows, c.columns, type, 4),
        mean(1, c.rows),
        rstd(1, c.rows),
        dnormalised(c.rows, c.columns, gradient_type, 1),
        residual(c.rows, c.columns, DType::f32, 2),
        dx(c.rows, c.columns, x_type, 5),
        dgain(1, c.columns),
        doffset(1, c.columns),
        again(c.rows, c.columns, type, 2) {
    x.randomise(1, 2.0, 0.5);
    y.randomise(2);
    bias.randomise(3);
    gain.randomise(4, 0.5, c.form.one_plus ? 0.0 : 1.0);
    offset.randomise(5);
    dnormalised.randomise(6);
    residual.randomise(7);
    dgain.randomise(8);
    doffset.randomise(9);
  }

  bool is_layer() const { return c.form.kind == NormKind::layer; }
  const float* offsets() const { return c.has_offset ? offset.f32() : nullptr; }
  double weight(std::size_t column) const {
    return gain.get(0, column) + (c.form.one_plus ? 1.0 : 0.0);
  }
  double shift(std::size_t column) const { return c.has_offset ? offset.get(0, column) : 0.0; }

  void forward(bool with_y, bool with_bias) {
    host_kernels().residual_norm_forward(
        {c.form, x, with_y ? y.matrix() : Matrix(), with_bias ? bias.f32() : nullptr,
         with_y ? sum.matrix() : x.matrix(), gain.f32(), offsets(), normalised,
         is_layer() ? mean.f32() : nullptr, rstd.f32()});
  }
  void backward(const Matrix& gradient_of_residual, const Matrix& to) {
    host_kernels().norm_backward({c.form, dnormalised, x, is_layer() ? mean.f32() : nullptr,
                                  rstd.f32(), gain.f32(), offsets(), gradient_of_residual, to,
                                  dgain.f32(), c.has_offset ? doffset.f32() : nullptr, again});
  }
};

std::vector<double> row_of(const TestMatrix& matrix, std::size_t row) {
  std::vector<double> values;
  for (std::size_t c = 0; c < matrix.matrix().columns; ++c) values.push_back(matrix.get(row, c));
  return values;
}

void check_forward(Run& run, DType type, bool with_y, bool with_bias) {
  run.forward(with_y, with_bias);
  Values sums, outputs, means, rstds;
  for (std::size_t r = 0; r < run.c.rows; ++r) {
    std::vector<double> source = row_of(run.x, r);
    for (std::size_t c = 0; c < run.c.columns && with_y; ++c) {
      source[c] += run.y.get(r, c) + (with_bias ? run.bias.get(0, c) : 0.0);
    }
    sums.insert(sums.end(), source.begin(), source.end());
    const Row row(run.c.form, source);
    means.push_back(row.mean);
    rstds.push_back(row.rstd);
    for (std::size_t c = 0; c < run.c.columns; ++c)
      outputs.push_back(row.hat[c] * run.weight(c) + run.shift(c));
  }
  if (with_y) REQUIRE(largest_error(run.sum.values(), sums) < 2e-7);
  if (run.is_layer()) REQUIRE(largest_error(run.mean.values(), means) < 5e-7);
  REQUIRE(largest_error(run.rstd.values(), rstds) < 2e-6);
  REQUIRE(largest_error(run.normalised.values(), outputs) < 3e-6 + rounding(type));
  REQUIRE((run.sum.padding_is_untouched() && run.normalised.padding_is_untouched()));
}

/// After a forward pass over x alone.
void check_backward(Run& run, DType x_type, bool with_residual) {
  Values dx, dgain = run.dgain.values(), doffset = run.doffset.values();
  const Values untouched = doffset;
  for (std::size_t r = 0; r < run.c.rows; ++r) {
    const Row row(run.c.form, row_of(run.x, r));
    std::vector<double> g = row_of(run.dnormalised, r);
    for (std::size_t c = 0; c < run.c.columns; ++c) {
      dgain[c] += g[c] * row.hat[c];
      doffset[c] += g[c];
      g[c] *= run.weight(c);
    }
    const std::vector<double> through = row.backward(g);
    for (std::size_t c = 0; c < run.c.columns; ++c) {
      dx.push_back(through[c] + (with_residual ? run.residual.get(r, c) : 0.0));
    }
  }
  run.backward(with_residual ? run.residual.matrix() : Matrix(), run.dx);
  REQUIRE(largest_error(run.dx.values(), dx) < 5e-6 + rounding(x_type));
  REQUIRE(largest_error(run.dgain.values(), dgain) < 1e-5);
  // One rounding per row of sums that may be larger on the way than at the end.
  if (run.c.has_offset) {
    REQUIRE(largest_error(run.doffset.values(), doffset) <
            1.2e-7 * static_cast<double>(run.c.rows));
  } else {
    REQUIRE(run.doffset.values() == untouched);
  }
  REQUIRE(run.again.values() == run.normalised.values());
  REQUIRE((run.dx.padding_is_untouched() && run.again.padding_is_untouched()));
}

}  // namespace

TEST_CASE("forms of norms against double, forward", "[kernels]") {
  for (const Case& c : cases) {
    for (const DType type : all_types) {
      for (const auto& [with_y, with_bias] :
           {std::pair(false, false), std::pair(true, false), std::pair(true, true)}) {
        CAPTURE(c.rows, c.columns, c.form.epsilon, type_name(type), with_y, with_bias);
        Run run(c, DType::f32, type, type);
        check_forward(run, type, with_y, with_bias);
      }
    }
  }
}

TEST_CASE("forms of norms against double, backward", "[kernels]") {
  for (const Case& c : cases) {
    for (const DType gradient_type : all_types) {
      for (const DType type : all_types) {
        for (const bool with_residual : {true, false}) {
          CAPTURE(c.rows, c.columns, c.form.epsilon, type_name(gradient_type), type_name(type),
                  with_residual);
          Run run(c, DType::f32, gradient_type, type);
          run.forward(false, false);
          check_backward(run, DType::f32, with_residual);
        }
      }
    }
  }
}

TEST_CASE("norms of heads take and give 16 bits", "[kernels]") {
  for (const Case& c : cases) {
    for (const DType type : {DType::bf16, DType::f16}) {
      for (const DType gradient_type : {type, DType::f32}) {
        CAPTURE(c.rows, c.columns, c.form.epsilon, type_name(type), type_name(gradient_type));
        Run run(c, type, gradient_type, type);
        check_forward(run, type, false, false);
        check_backward(run, type, false);
      }
    }
  }
}

TEST_CASE("the gradient of a norm may take the place of its output's gradient", "[kernels]") {
  for (const Case& c : cases) {
    for (const DType type : all_types) {
      CAPTURE(c.rows, c.columns, type_name(type));
      Run apart(c, type, type, type), in_place(c, type, type, type);
      for (Run* run : {&apart, &in_place}) run->forward(false, false);
      apart.backward({}, apart.dx);
      in_place.backward({}, in_place.dnormalised);
      REQUIRE(in_place.dnormalised.values() == apart.dx.values());
      REQUIRE(in_place.dgain.bytes() == apart.dgain.bytes());
      REQUIRE(in_place.doffset.bytes() == apart.doffset.bytes());
    }
  }
}

TEST_CASE("a NaN in an RMSNorm's row stays in its row and in the gain's gradient", "[kernels]") {
  Run run({{NormKind::rms, 1e-6f, false}, false, 4, 33}, DType::f32, DType::f32, DType::f32);
  run.x.set(2, 7, NAN);
  run.forward(false, false);
  run.backward({}, run.dx);
  for (std::size_t c = 0; c < 33; ++c) {
    REQUIRE((std::isnan(run.normalised.get(2, c)) && std::isnan(run.dx.get(2, c))));
    REQUIRE((std::isfinite(run.normalised.get(1, c)) && std::isfinite(run.dx.get(1, c))));
    REQUIRE(std::isnan(run.dgain.get(0, c)));
  }
}
