#include "kernels/attention.hpp"

#include <cmath>
#include <vector>

#include "kernels/test_matrix.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

struct Case {
  std::size_t samples, length, heads, head_size;
  std::size_t group = 1, first = 0, window = 0;
  double scale_factor = 1.0;

  AttentionForm form() const {
    AttentionForm form = multi_head(samples, length, heads, head_size);
    form.group = group;
    form.first = first;
    form.key_heads = (first + heads + group - 1) / group;
    form.window = window;
    form.scale *= static_cast<float>(scale_factor);
    return form;
  }
  std::size_t rows() const { return samples * length; }
  std::size_t width() const { return heads * head_size; }
  std::size_t key_width() const { return form().key_heads * head_size; }
  /// Of queries, keys and values side by side.
  std::size_t qkv_width() const { return width() + 2 * key_width(); }
};
const std::vector<Case> cases{{2, 1, 2, 4},   {2, 7, 3, 5},    {1, 64, 2, 16},
                              {2, 65, 1, 32}, {1, 130, 2, 24}, {1, 300, 1, 8}};
/// Shared key heads, from the middle of a group on and up to one; head sizes that are and are not whole vectors.
const std::vector<Case> shared_cases{{1, 50, 6, 16, 3},           {2, 33, 5, 24, 3, 2}, {1, 100, 4, 80, 4},
                                     {2, 20, 4, 16, 4, 1},        {1, 49, 1, 24, 4, 3}, {2, 97, 3, 16, 1, 0, 0, 0.25},
                                     {1, 70, 7, 20, 3, 1, 0, 3.0}};
/// Windows of one position, of some, about the size of a tile, as long as the sequence and longer.
const std::vector<Case> window_cases{
    {1, 60, 2, 16, 1, 0, 1},    {2, 130, 2, 24, 1, 0, 7},   {1, 200, 5, 16, 3, 2, 48},   {1, 301, 3, 80, 3, 0, 49},
    {1, 197, 2, 16, 2, 1, 100}, {1, 100, 4, 24, 4, 0, 100}, {1, 100, 1, 16, 1, 0, 1000}, {2, 145, 1, 32, 1, 0, 95}};

/// Columns of one matrix: queries (0), keys (1), values (2).
Matrix part(const Case& c, const Matrix& qkv, std::size_t which) {
  return which == 0 ? qkv.columns_from(0, c.width())
                    : qkv.columns_from(c.width() + (which - 1) * c.key_width(), c.key_width());
}

/// Attention with the whole matrix of probabilities, in double.
class Reference {
 public:
  Reference(const Case& c, const TestMatrix& qkv, const TestMatrix& dout)
      : out(c.rows() * c.width(), 0.0),
        log_sum(c.rows() * c.heads, 0.0),
        dqkv(c.rows() * c.qkv_width(), 0.0),
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
    const std::size_t head = part == 0 ? h : (case_.first + h) / case_.group;
    const std::size_t before = part == 0 ? 0 : case_.width() + (part - 1) * case_.key_width();
    return (s * case_.length + t) * case_.qkv_width() + before + head * case_.head_size + d;
  }
  double value(std::size_t place_in_qkv) const {
    return qkv_.get(place_in_qkv / case_.qkv_width(), place_in_qkv % case_.qkv_width());
  }

  /// Forward and backward pass of query i.
  void query(std::size_t s, std::size_t h, std::size_t i) {
    const std::size_t size = case_.head_size, row = s * case_.length + i;
    const double scale = case_.scale_factor / std::sqrt(static_cast<double>(size));
    const std::size_t begin = case_.window == 0 || i < case_.window ? 0 : i - case_.window + 1;
    std::vector<double> p(i + 1, 0.0), dp(i + 1, 0.0);
    double sum = 0, mixed = 0;
    for (std::size_t j = begin; j <= i; ++j) {
      for (std::size_t d = 0; d < size; ++d) p[j] += value(place(s, i, 0, h, d)) * value(place(s, j, 1, h, d)) * scale;
      sum += std::exp(p[j]);
    }
    log_sum[row * case_.heads + h] = std::log(sum);
    for (std::size_t j = begin; j <= i; ++j) {
      p[j] = std::exp(p[j]) / sum;
      for (std::size_t d = 0; d < size; ++d) {
        const double gradient = dout_.get(row, h * size + d);
        out[row * case_.width() + h * size + d] += p[j] * value(place(s, j, 2, h, d));
        dqkv[place(s, j, 2, h, d)] += p[j] * gradient;
        dp[j] += gradient * value(place(s, j, 2, h, d));
      }
      mixed += p[j] * dp[j];
    }
    for (std::size_t j = begin; j <= i; ++j) {
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
        qkv(c.rows(), c.qkv_width(), type, 3),
        out(c.rows(), c.width(), type, 1),
        log_sum(c.rows(), c.heads),
        dout(c.rows(), c.width(), type, 2),
        dqkv(c.rows(), c.qkv_width(), type, 5) {
    qkv.randomise(1, 2.0);
    dout.randomise(2);
    arena.poison(true);
  }
  void forward() {
    host_attention().forward(c.form(), part(c, qkv, 0), part(c, qkv, 1), part(c, qkv, 2), out, log_sum.f32(), arena);
  }
  void backward() {
    host_attention().backward(c.form(), part(c, qkv, 0), part(c, qkv, 1), part(c, qkv, 2), out, log_sum.f32(), dout,
                              part(c, dqkv, 0), part(c, dqkv, 1), part(c, dqkv, 2), arena);
  }
};

void check(const Case& c, DType type) {
  CAPTURE(type_name(type), c.samples, c.length, c.heads, c.head_size, c.group, c.first, c.window);
  Run run(c, type), again(c, type);
  const Reference reference(c, run.qkv, run.dout);
  run.forward();
  run.backward();
  REQUIRE(largest_error(run.out.values(), reference.out) < 2e-6 + rounding(type));
  REQUIRE(largest_error(run.log_sum.values(), reference.log_sum) < 2e-6);
  // The backward pass reads `out` as it was rounded, and a key head's gradient sums over its group.
  REQUIRE(largest_error(run.dqkv.values(), reference.dqkv) <
          static_cast<double>(c.group) * (5e-6 + 2 * rounding(type)));
  REQUIRE((run.out.padding_is_untouched() && run.dqkv.padding_is_untouched()));
  again.forward();
  again.backward();
  REQUIRE(again.out.bytes() == run.out.bytes());
  REQUIRE(again.log_sum.bytes() == run.log_sum.bytes());
  REQUIRE(again.dqkv.bytes() == run.dqkv.bytes());
}

}  // namespace

TEST_CASE("attention against the whole matrices in double", "[kernels]") {
  for (const DType type : all_types) {
    for (const Case& c : cases) check(c, type);
  }
}

TEST_CASE("attention of query heads that share key heads, against the whole matrices", "[kernels]") {
  for (const DType type : all_types) {
    for (const Case& c : shared_cases) check(c, type);
  }
}

TEST_CASE("attention within a window, against the whole matrices", "[kernels]") {
  for (const DType type : all_types) {
    for (const Case& c : window_cases) check(c, type);
  }
}

TEST_CASE("a window as long as the sequence gives the bits of no window", "[kernels]") {
  Run without({1, 150, 3, 16, 3}, DType::f32), with({1, 150, 3, 16, 3, 0, 150}, DType::f32);
  for (Run* run : {&without, &with}) {
    run->forward();
    run->backward();
  }
  REQUIRE(with.out.bytes() == without.out.bytes());
  REQUIRE(with.dqkv.bytes() == without.dqkv.bytes());
}

TEST_CASE("what lies before its window does not reach a query, not even when it is NaN", "[kernels]") {
  Run run({1, 160, 1, 16, 1, 0, 20}, DType::f32), changed({1, 160, 1, 16, 1, 0, 20}, DType::f32);
  for (std::size_t c = 0; c < 48; ++c) changed.qkv.set(60, c, NAN);
  run.forward();
  changed.forward();
  run.backward();
  changed.backward();
  // Six queries are multiplied together: the five behind those that see row 60 meet its values with a weight of 0.
  for (std::size_t t = 0; t < 160; ++t) {
    if (t >= 60 && t < 80) REQUIRE(std::isnan(changed.out.get(t, 0)));
    if (t < 55 || t >= 85) REQUIRE(changed.out.get(t, 0) == run.out.get(t, 0));
    if (t < 35 || t >= 105) REQUIRE(changed.dqkv.get(t, 17) == run.dqkv.get(t, 17));
  }
}

TEST_CASE("a window's scores take memory of the window, not of the sequence", "[kernels]") {
  Run run({1, 2048, 1, 16, 1, 0, 32}, DType::f32), whole({1, 2048, 1, 16}, DType::f32);
  for (Run* one : {&run, &whole}) {
    one->forward();
    one->backward();
  }
  REQUIRE(run.arena.peak_bytes() + 2 * 48 * 1800 * sizeof(float) < whole.arena.peak_bytes());
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
