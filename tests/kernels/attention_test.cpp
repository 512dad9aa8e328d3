#include "kernels/attention.hpp"

#include <cmath>
#include <vector>

#include "kernels/attention_case.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

const std::vector<AttentionCase> cases{{2, 1, 2, 4},   {2, 7, 3, 5},    {1, 64, 2, 16},
                                       {2, 65, 1, 32}, {1, 130, 2, 24}, {1, 300, 1, 8}};
/// Shared key heads, from the middle of a group on and up to one; head sizes that are and are not
/// whole vectors.
const std::vector<AttentionCase> shared_cases{
    {1, 50, 6, 16, 3},           {2, 33, 5, 24, 3, 2}, {1, 100, 4, 80, 4},
    {2, 20, 4, 16, 4, 1},        {1, 49, 1, 24, 4, 3}, {2, 97, 3, 16, 1, 0, 0, 0.25},
    {1, 70, 7, 20, 3, 1, 0, 3.0}};
/// Windows of one position, of some, about the size of a tile, as long as the sequence and longer.
const std::vector<AttentionCase> window_cases{
    {1, 60, 2, 16, 1, 0, 1},     {2, 130, 2, 24, 1, 0, 7},   {1, 200, 5, 16, 3, 2, 48},
    {1, 301, 3, 80, 3, 0, 49},   {1, 197, 2, 16, 2, 1, 100}, {1, 100, 4, 24, 4, 0, 100},
    {1, 100, 1, 16, 1, 0, 1000}, {2, 145, 1, 32, 1, 0, 95}};
/// Documents of one position, of odd lengths, of whole tiles and as long as the sample, within
/// windows and of key heads that are shared.
const std::vector<AttentionCase> document_cases{
    {2, 130, 2, 24, 1, 0, 0, 1.0, {1, 7, 50, 3}},  {3, 97, 3, 16, 1, 0, 0, 0.25, {1}},
    {1, 100, 4, 80, 4, 0, 0, 1.0, {48, 48}},       {2, 33, 5, 24, 3, 2, 0, 1.0, {5, 12}},
    {1, 200, 5, 16, 3, 2, 48, 1.0, {49, 95, 5}},   {1, 301, 3, 80, 3, 0, 49, 1.0, {301}},
    {2, 145, 1, 32, 1, 0, 95, 1.0, {33, 64, 200}}, {2, 60, 2, 16, 1, 0, 1, 1.0, {7}},
    {1, 70, 7, 20, 3, 1, 6, 3.0, {17, 2, 31}}};
/// Every position sees all: lengths that are and are not whole tiles and panels, key heads that are
/// shared.
const std::vector<AttentionCase> whole_cases{
    {2, 1, 2, 4, 1, 0, 0, 1.0, {}, false},   {2, 7, 3, 5, 1, 0, 0, 1.0, {}, false},
    {1, 48, 2, 16, 1, 0, 0, 1.0, {}, false}, {2, 65, 1, 32, 1, 0, 0, 1.0, {}, false},
    {1, 96, 1, 16, 1, 0, 0, 0.5, {}, false}, {1, 130, 2, 24, 1, 0, 0, 1.0, {}, false},
    {2, 97, 5, 20, 3, 2, 0, 1.0, {}, false}, {1, 197, 3, 64, 1, 0, 0, 0.25, {}, false}};

/// Scores within a cap: far above it, about as large, and much smaller than it; with windows,
/// documents, key heads that are shared, and every position seeing all.
const std::vector<AttentionCase> capped_cases{
    {2, 7, 3, 5, 1, 0, 0, 1.0, {}, true, 0.5},
    {1, 100, 4, 80, 4, 0, 0, 1.0, {}, true, 2.0},
    {2, 97, 3, 16, 3, 0, 7, 1.0, {}, true, 50.0},
    {2, 130, 2, 24, 1, 0, 0, 1.0, {1, 7, 50, 3}, true, 1.0},
    {1, 197, 3, 64, 1, 0, 0, 0.25, {}, false, 0.25},
    {1, 90, 1, 136, 1, 0, 17, 1.0, {33, 16, 90}, true, 1.5}};

/// Buffers of one forward and backward pass. Everything written starts as NaN.
struct Run {
  AttentionCase c;
  std::vector<std::int32_t> document_begin;
  TestMatrix qkv, out, log_sum, dout, dqkv;
  Arena arena;

  Run(const AttentionCase& sizes, DType type)
      : c(sizes),
        document_begin(c.document_begin()),
        qkv(c.rows(), c.qkv_width(), type, 3),
        out(c.rows(), c.width(), type, 1),
        log_sum(c.rows(), c.heads),
        dout(c.rows(), c.width(), type, 2),
        dqkv(c.rows(), c.qkv_width(), type, 5) {
    qkv.randomise(1, 2.0);
    dout.randomise(2);
    arena.poison(true);
  }
  AttentionForm form() const {
    AttentionForm form = c.form();
    if (!document_begin.empty()) form.document_begin = document_begin.data();
    return form;
  }
  void forward() {
    host_attention().forward(
        {form(), c.part(qkv, 0), c.part(qkv, 1), c.part(qkv, 2), out, log_sum.f32()}, arena);
  }
  void backward() {
    host_attention().backward(
        {form(), c.part(qkv, 0), c.part(qkv, 1), c.part(qkv, 2), out, log_sum.f32(), dout,
         c.part(dqkv, 0), c.part(dqkv, 1), c.part(dqkv, 2)},
        arena);
  }
};

void check(const AttentionCase& c, DType type) {
  CAPTURE(type_name(type), c.samples, c.length, c.heads, c.head_size, c.group, c.first, c.window,
          c.documents, c.cap);
  Run run(c, type), again(c, type);
  const AttentionReference reference(c, run.qkv, run.dout);
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
    for (const AttentionCase& c : cases) check(c, type);
  }
}

TEST_CASE("attention of query heads that share key heads, against the whole matrices",
          "[kernels]") {
  for (const DType type : all_types) {
    for (const AttentionCase& c : shared_cases) check(c, type);
  }
}

TEST_CASE("attention within a window, against the whole matrices", "[kernels]") {
  for (const DType type : all_types) {
    for (const AttentionCase& c : window_cases) check(c, type);
  }
}

TEST_CASE("attention within documents, against the whole matrices", "[kernels]") {
  for (const DType type : all_types) {
    for (const AttentionCase& c : document_cases) check(c, type);
  }
}

TEST_CASE("attention of every position to all, against the whole matrices", "[kernels]") {
  for (const DType type : all_types) {
    for (const AttentionCase& c : whole_cases) check(c, type);
  }
}

TEST_CASE("attention whose scores are held within a cap, against the whole matrices", "[kernels]") {
  for (const DType type : all_types) {
    for (const AttentionCase& c : capped_cases) check(c, type);
  }
}

TEST_CASE("a document as long as the sample gives the bits of no document", "[kernels]") {
  Run without({2, 150, 3, 16, 3}, DType::f32),
      with({2, 150, 3, 16, 3, 0, 0, 1.0, {150}}, DType::f32);
  for (Run* run : {&without, &with}) {
    run->forward();
    run->backward();
  }
  REQUIRE(with.out.bytes() == without.out.bytes());
  REQUIRE(with.dqkv.bytes() == without.dqkv.bytes());
}

TEST_CASE("what is in a document changes nothing in another", "[kernels]") {
  const AttentionCase c{1, 160, 1, 16, 1, 0, 0, 1.0, {53, 31, 200}};
  Run run(c, DType::f32), changed(c, DType::f32);
  for (std::size_t column = 0; column < 48; ++column) changed.qkv.set(60, column, 1e3);
  for (Run* one : {&run, &changed}) {
    one->forward();
    one->backward();
  }
  for (std::size_t t = 0; t < 160; ++t) {
    if (t >= 53 && t < 84) continue;
    for (std::size_t column = 0; column < 16; ++column)
      REQUIRE(changed.out.get(t, column) == run.out.get(t, column));
    for (std::size_t column = 0; column < 48; ++column)
      REQUIRE(changed.dqkv.get(t, column) == run.dqkv.get(t, column));
  }
  REQUIRE(changed.out.get(60, 0) != run.out.get(60, 0));
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

TEST_CASE("what lies before its window does not reach a query, not even when it is NaN",
          "[kernels]") {
  Run run({1, 160, 1, 16, 1, 0, 20}, DType::f32), changed({1, 160, 1, 16, 1, 0, 20}, DType::f32);
  for (std::size_t c = 0; c < 48; ++c) changed.qkv.set(60, c, NAN);
  run.forward();
  changed.forward();
  run.backward();
  changed.backward();
  // Six queries are multiplied together: the five behind those that see row 60 meet its values with
  // a weight of 0.
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

TEST_CASE("attention is causal: what comes later changes nothing, not even when it is NaN",
          "[kernels]") {
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

TEST_CASE("large scores do not overflow, and a NaN is seen by the queries that see its key",
          "[kernels]") {
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
