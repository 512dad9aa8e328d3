// Attention to the rows of something else, to some of the keys, and with a bias by distance,
// against the whole matrix of probabilities in double.
#include "kernels/attention_form_case.hpp"
#include "kernels/test_matrix.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

using Case = AttentionFormCase;

/// Buffers of one forward and backward pass. Everything written starts as NaN.
struct Run {
  Case c;
  TestMatrix q, k, v, out, log_sum, dout, dq, dk, dv, bias, dbias;
  Arena arena;

  Run(const Case& of, DType type)
      : c(of),
        q(c.rows(), c.width(), type, 3),
        k(c.key_rows(), c.key_width(), type, 1),
        v(c.key_rows(), c.key_width(), type),
        out(c.rows(), c.width(), type, 1),
        log_sum(c.rows(), c.heads),
        dout(c.rows(), c.width(), type, 2),
        dq(c.rows(), c.width(), type, 5),
        dk(c.key_rows(), c.key_width(), type, 2),
        dv(c.key_rows(), c.key_width(), type),
        bias(c.heads, c.distances()),
        dbias(c.heads, c.distances()) {
    q.randomise(1), k.randomise(2), v.randomise(3), dout.randomise(4), bias.randomise(5),
        dbias.randomise(6);
    arena.poison(true);
  }
  void run() {
    const AttentionForm form = c.form(c.seen.data(), bias.f32(), dbias.f32());
    host_attention().forward({form, q, k, v, out, log_sum.f32()}, arena);
    host_attention().backward({form, q, k, v, out, log_sum.f32(), dout, dq, dk, dv}, arena);
  }
};

/// The run with the whole matrix of probabilities, in double; gradients of the bias are added to
/// what is there.
struct Whole {
  Values out, dq, dk, dv, dbias;

  explicit Whole(const Run& of)
      : out(of.c.rows() * of.c.width(), 0.0),
        dq(out),
        dk(of.c.key_rows() * of.c.key_width(), 0.0),
        dv(dk),
        dbias(of.dbias.values()),
        run_(of) {
    for (std::size_t row = 0; row < of.c.rows(); ++row) {
      for (std::size_t head = 0; head < of.c.heads; ++head) query(row, head);
    }
  }

 private:
  void query(std::size_t row, std::size_t head) {
    const Case& c = run_.c;
    const std::size_t sample = row / c.queries, i = row % c.queries, at = head * c.head_size;
    const std::size_t key_at = head / c.group * c.head_size, first = sample * c.keys;
    std::size_t end = c.causal ? i + 1 : c.keys;
    if (!c.seen.empty()) end = static_cast<std::size_t>(c.seen[sample]);
    std::vector<double> p(end), dp(end);
    double sum = 0.0, mixed = 0.0;
    for (std::size_t j = 0; j < end; ++j) {
      for (std::size_t d = 0; d < c.head_size; ++d)
        p[j] += run_.q.get(row, at + d) * run_.k.get(first + j, key_at + d);
      p[j] =
          std::exp(c.scale * p[j] + (c.biased ? run_.bias.get(head, j + c.queries - 1 - i) : 0.0));
      sum += p[j];
    }
    for (std::size_t j = 0; j < end; ++j) {
      p[j] /= sum;
      for (std::size_t d = 0; d < c.head_size; ++d) {
        const double value = run_.v.get(first + j, key_at + d),
                     gradient = run_.dout.get(row, at + d);
        out[row * run_.c.width() + at + d] += p[j] * value;
        dv[(first + j) * run_.c.key_width() + key_at + d] += p[j] * gradient;
        dp[j] += gradient * value;
      }
      mixed += p[j] * dp[j];
    }
    for (std::size_t j = 0; j < end; ++j) {
      const double ds = p[j] * (dp[j] - mixed);
      dbias[head * (c.distances()) + j + c.queries - 1 - i] += c.biased ? ds : 0.0;
      for (std::size_t d = 0; d < c.head_size; ++d) {
        dq[row * run_.c.width() + at + d] += c.scale * ds * run_.k.get(first + j, key_at + d);
        dk[(first + j) * run_.c.key_width() + key_at + d] += c.scale * ds * run_.q.get(row, at + d);
      }
    }
  }

  const Run& run_;
};

void check(const std::vector<Case>& cases) {
  for (const DType type : all_types) {
    for (const Case& c : cases) {
      CAPTURE(type_name(type), c.samples, c.queries, c.keys, c.heads, c.head_size, c.causal,
              c.biased, c.seen, c.group);
      Run run(c, type), again(c, type);
      const Whole whole(run);
      run.run();
      again.run();
      const double bound =
          static_cast<double>(c.group) * std::max(1.0, c.scale) * (5e-6 + 2 * rounding(type));
      REQUIRE(largest_error(run.out.values(), whole.out) < 2e-6 + rounding(type));
      REQUIRE(largest_error(run.dq.values(), whole.dq) < bound);
      // A key's gradients are sums over the queries, of which it has a share.
      const double of_keys =
          bound * std::max(1.0, static_cast<double>(c.queries) / static_cast<double>(c.keys));
      REQUIRE(largest_error(run.dk.values(), whole.dk) < of_keys);
      REQUIRE(largest_error(run.dv.values(), whole.dv) < of_keys);
      // Sums over all queries, from `out` as it was rounded.
      REQUIRE(largest_error(run.dbias.values(), whole.dbias) <
              static_cast<double>(c.rows()) * (1e-6 + rounding(type)));
      REQUIRE((run.out.padding_is_untouched() && run.dq.padding_is_untouched() &&
               run.dk.padding_is_untouched()));
      for (const auto part : {&Run::out, &Run::dq, &Run::dk, &Run::dv, &Run::dbias}) {
        REQUIRE((run.*part).bytes() == (again.*part).bytes());
      }
    }
  }
}

}  // namespace

TEST_CASE("attention to the rows of something else, against the whole matrices", "[kernels]") {
  check(crossed_forms);
}
TEST_CASE("attention with a bias by distance, against the whole matrices", "[kernels]") {
  check(biased_forms);
}
TEST_CASE("attention to some of the keys, against the whole matrices", "[kernels]") {
  check(partly_seen_forms);
}

TEST_CASE("a bias of 0 changes no bit of attention whose scores are not scaled", "[kernels]") {
  const Case c = {2, 50, 50, 2, 16, true};
  Case with = c;
  with.biased = true;
  Run plain(c, DType::f32), zero(with, DType::f32);
  zero.bias.randomise(5, 0.0);
  plain.run();
  zero.run();
  REQUIRE(plain.out.bytes() == zero.out.bytes());
  REQUIRE(plain.dq.bytes() == zero.dq.bytes());
  REQUIRE(plain.dk.bytes() == zero.dk.bytes());
}

TEST_CASE("what is in keys that are not seen changes nothing", "[kernels]") {
  const Case c = {2, 18, 33, 2, 16, false, false, {20, 32}};
  Run run(c, DType::f32), changed(c, DType::f32);
  for (std::size_t column = 0; column < 32; ++column) {
    changed.k.set(20, column, 1e3), changed.v.set(20, column, 1e3);
    changed.k.set(65, column, 1e3), changed.v.set(65, column, 1e3);
  }
  run.run();
  changed.run();
  REQUIRE(changed.out.bytes() == run.out.bytes());
  REQUIRE(changed.dq.bytes() == run.dq.bytes());
  REQUIRE(changed.dk.bytes() == run.dk.bytes());
  for (std::size_t column = 0; column < 32; ++column) {
    REQUIRE(run.dk.get(20, column) == 0.0);
    REQUIRE(run.dv.get(65, column) == 0.0);
  }
}
