// The newest queries of a text against kept keys and values: the last rows of the attention of
// whole texts.
#include "kernels/host/cached_attention.hpp"

#include <cmath>

#include "base/random.hpp"
#include "kernels/kernels.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

constexpr std::size_t length = 70;

Tensor random_rows(Arena& arena, const char* name, std::size_t columns, DType type) {
  Tensor wide(arena, length, columns);
  CounterRandom(3, name).fill_normal(0, wide.size(), wide.f32());
  Tensor rows(arena, length, columns, type);
  host_kernels().convert(wide, rows);
  return rows;
}

AttentionForm grouped(std::size_t heads, std::size_t group, std::size_t window) {
  AttentionForm form = multi_head(1, length, heads, 12);
  form.group = group;
  form.key_heads = heads / group;
  form.window = window;
  return form;
}

double largest_difference(Arena& arena, const Matrix& a, const Matrix& b) {
  Tensor x(arena, a.rows, a.columns), y(arena, a.rows, a.columns);
  host_kernels().convert(a, x);
  host_kernels().convert(b, y);
  double largest = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = std::abs(x.f32()[i] - y.f32()[i]);
    largest = difference <= largest ? largest : difference;  // a NaN stays
  }
  return largest;
}

/// Largest difference of attention to cached keys from that of a whole text, for queries [length -
/// n, length), for every n given.
double error(const AttentionForm& form, DType type) {
  Arena arena;
  arena.poison(true);
  const std::size_t queries = form.heads * form.head_size, keys = form.key_heads * form.head_size;
  const Tensor q = random_rows(arena, "q", queries, type), k = random_rows(arena, "k", keys, type),
               v = random_rows(arena, "v", keys, type);
  Tensor whole(arena, length, queries, type), log_sum(arena, 1, length * form.heads);
  host_attention().forward({form, q, k, v, whole, log_sum.f32()}, arena);
  double largest = 0.0;
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{33}, length}) {
    Tensor out(arena, n, queries, type);
    attend_cached(form, q.matrix().rows_from(length - n, n), k, v, out);
    largest =
        std::max(largest, largest_difference(arena, out, whole.matrix().rows_from(length - n, n)));
  }
  return largest;
}

}  // namespace

TEST_CASE("queries against kept keys equal the last rows of whole attention") {
  for (const std::size_t group : {1, 2, 6}) {
    for (const std::size_t window : {0, 1, 7, 69, 200}) {
      INFO("group " << group << ", window " << window);
      CHECK(error(grouped(6, group, window), DType::f32) < 1e-5);
      // Results lie below 4 and are rounded to 8 bits by both, each from fp32.
      CHECK(error(grouped(6, group, window), DType::bf16) <= 4.0 / 256.0);
      CHECK(error(grouped(6, group, window), DType::f16) <= 4.0 / 2048.0);
    }
  }
}

TEST_CASE("scores of kept keys are held within a cap as those of whole attention are") {
  for (const std::size_t window : {0, 7}) {
    AttentionForm form = grouped(6, 2, window);
    form.cap = 0.5F;
    CHECK(error(form, DType::f32) < 1e-5);
    CHECK(error(form, DType::bf16) <= 4.0 / 256.0);
  }
}

TEST_CASE("queries, keys and values that are columns of one matrix are read where they lie") {
  Arena arena;
  const AttentionForm form = grouped(2, 1, 0);
  const Tensor all = random_rows(arena, "all", 72, DType::f32);
  Tensor whole(arena, length, 24), log_sum(arena, 1, length * 2), out(arena, 3, 24);
  const Matrix q = all.matrix().columns_from(0, 24), k = all.matrix().columns_from(24, 24),
               v = all.matrix().columns_from(48, 24);
  host_attention().forward({form, q, k, v, whole, log_sum.f32()}, arena);
  attend_cached(form, q.rows_from(length - 3, 3), k, v, out);
  CHECK(largest_difference(arena, out, whole.matrix().rows_from(length - 3, 3)) < 1e-5);
}
