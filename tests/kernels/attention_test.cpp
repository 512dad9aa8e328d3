#include "kernels/attention.hpp"

#include <cmath>
#include <vector>

#include "kernels/test_matrix.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

struct Case {
  std::size_t samples, length, heads, head_size;

  std::size_t rows() const { return samples * length; }
  std::size_t width() const { return heads * head_size; }
};
const std::vector<Case> cases{{2, 1, 2, 4},   {2, 7, 3, 5},    {1, 64, 2, 16},
                              {2, 65, 1, 32}, {1, 130, 2, 24}, {1, 300, 1, 8}};

/// Attention with the whole matrix of probabilities, in double.
class Reference {
 public:
  Reference(const Case& c, const TestMatrix& qkv, const TestMatrix& dout)
      : out(c.rows() * c.width(), 0.0),
        log_sum(c.rows() * c.heads, 0.0),
        dqkv(c.rows() * 3 * c.width(), 0.0),
        case_(c),
        qkv_(qkv),
        dout_(dout) {
    for (std::size_t s = 0; s < c.samples; ++s) {
      for (std::size_t h = 0; h < c.heads; ++h) {
        for (std::size_t i = 0; i < c.length; ++i) query(s, h, i);
      }
    }
  }

  Values out, log_sum, dqkv;

 private:
  std::size_t place(std::size_t s, std::size_t t, std::size_t part, std::size_t h, std::size_t d) const {
    return (s * case_.length + t) * 3 * case_.width() + part * case_.width() + h * case_.head_size + d;
  }
  double value(std::size_t place_in_qkv) const {
    return qkv_.get(place_in_qkv / (3 * case_.width()), place_in_qkv % (3 * case_.width()));
  }

  /// Forward and backward pass of query i.
  void query(std::size_t s, std::size_t h, std::size_t i) {
    const std::size_t size = case_.head_size, row = s * case_.length + i;
    const double scale = 1.0 / std::sqrt(static_cast<double>(size));
    std::vector<double> p(i + 1, 0.0), dp(i + 1, 0.0);
    double sum = 0, mixed = 0;
    for (std::size_t j = 0; j <= i; ++j) {
      for (std::size_t d = 0; d < size; ++d) p[j] += value(place(s, i, 0, h, d)) * value(place(s, j, 1, h, d)) * scale;
      sum += std::exp(p[j]);
    }
    log_sum[row * case_.heads + h] = std::log(sum);
    for (std::size_t j = 0; j <= i; ++j) {
      p[j] = std::exp(p[j]) / sum;
      for (std::size_t d = 0; d < size; ++d) {
        const double gradient = dout_.get(row, h * size + d);
        out[row * case_.width() + h * size + d] += p[j] * value(place(s, j, 2, h, d));
        dqkv[place(s, j, 2, h, d)] += p[j] * gradient;
        dp[j] += gradient * value(place(s, j, 2, h, d));
      }
      mixed += p[j] * dp[j];
    }
    for (std::size_t j = 0; j <= i; ++j) {
      const double ds = p[j] * (dp[j] - mixed) * scale;
      for (std::size_t d = 0; d < size; ++d) {
        dqkv[place(s, i, 0, h, d)] += ds * value(place(s, j, 1, h, d));
        dqkv[place(s, j, 1, h, d)] += ds * value(place(s, i, 0, h, d));
      }
    }
  }

  Case case_;
  const TestMatrix& qkv_;
  const TestMatrix& dout_;
};

/// Buffers of one forward and backward pass. Everything written starts as NaN.
struct Run {
  Case c;
  TestMatrix qkv, out, log_sum, dout, dqkv;
  Arena arena;

  Run(const Case& sizes, DType type)
      : c(sizes),
        qkv(c.rows(), 3 * c.width(), type, 3),
        out(c.rows(), c.width(), type, 1),
        log_sum(c.rows(), c.heads),
        dout(c.rows(), c.width(), type, 2),
        dqkv(c.rows(), 3 * c.width(), type, 5) {
    qkv.randomise(1, 2.0);
    dout.randomise(2);
    arena.poison(true);
  }
  void forward() { host_attention().forward(qkv, c.samples, c.length, c.heads, out, log_sum.f32(), arena); }
  void backward() {
    host_attention().backward(qkv, out, log_sum.f32(), dout, c.samples, c.length, c.heads, dqkv, arena);
  }
};

}  // namespace

TEST_CASE("attention against the whole matrices in double", "[kernels]") {
  for (const DType type : all_types) {
    for (const Case& c : cases) {
      CAPTURE(type_name(type), c.samples, c.length, c.heads, c.head_size);
      Run run(c, type), again(c, type);
      const Reference reference(c, run.qkv, run.dout);
      run.forward();
      run.backward();
      REQUIRE(largest_error(run.out.values(), reference.out) < 2e-6 + rounding(type));
      REQUIRE(largest_error(run.log_sum.values(), reference.log_sum) < 2e-6);
      // The backward pass reads `out` as it was rounded.
      REQUIRE(largest_error(run.dqkv.values(), reference.dqkv) < 5e-6 + 2 * rounding(type));
      REQUIRE((run.out.padding_is_untouched() && run.dqkv.padding_is_untouched()));
      again.forward();
      again.backward();
      REQUIRE(again.out.bytes() == run.out.bytes());
      REQUIRE(again.log_sum.bytes() == run.log_sum.bytes());
      REQUIRE(again.dqkv.bytes() == run.dqkv.bytes());
    }
  }
}

TEST_CASE("attention is causal: what comes later changes nothing, not even when it is NaN", "[kernels]") {
  Run run({1, 100, 1, 16}, DType::f32), changed({1, 100, 1, 16}, DType::f32);
  for (std::size_t c = 0; c < 48; ++c) changed.qkv.set(90, c, 1e3);
  run.forward();
  changed.forward();
  for (std::size_t t = 0; t < 90; ++t) {
    for (std::size_t c = 0; c < 16; ++c) REQUIRE(run.out.get(t, c) == changed.out.get(t, c));
  }
}

TEST_CASE("attention keeps less than the matrix of probabilities", "[kernels]") {
  Run run({1, 1024, 1, 16}, DType::f32);
  run.forward();
  run.backward();
  REQUIRE(run.arena.bytes_in_use() == 0);
  REQUIRE(run.arena.peak_bytes() < 1024 * 1024 * sizeof(float) / 4);
}

TEST_CASE("large scores do not overflow, and a NaN is seen by the queries that see its key", "[kernels]") {
  Run run({1, 20, 1, 8}, DType::f32);
  run.qkv.randomise(1, 100.0);
  run.forward();
  run.backward();
  for (const double v : run.out.values()) REQUIRE(std::isfinite(v));
  for (const double v : run.dqkv.values()) REQUIRE(std::isfinite(v));
  run.qkv.set(7, 8, NAN);  // a key
  run.forward();
  run.backward();
  for (std::size_t t = 0; t < 20; ++t) REQUIRE(std::isnan(run.out.get(t, 0)) == (t >= 7));
  REQUIRE(std::isnan(run.dqkv.get(19, 0)));
}
