#include <algorithm>

#include "kernels/attention_head.hpp"
#include "kernels/bodies/attention.hpp"
#include "kernels/launch.hpp"
#include "kernels/sgemm.hpp"

namespace pptrain::kernels {
namespace {

/// Scratch of the backward pass, for one head at a time. The copies are used for bf16 only.
struct Scratch {
  Tensor scores, dscores, delta, q, k, v, dout, dq, dk, dv;

  Scratch(const AttentionShape& shape, DType type, Arena& arena)
      : scores(arena, attention_tile, shape.sequence_length),
        dscores(arena, attention_tile, shape.sequence_length),
        delta(arena, 1, shape.sequence_length) {
    if (type == DType::f32) return;
    for (Tensor* copy : {&q, &k, &v, &dout, &dq, &dk, &dv}) {
      *copy = Tensor(arena, shape.sequence_length, shape.head_size);
    }
  }
};

/// One head in f32: (T, head_size) each.
struct Head {
  Matrix q, k, v, dout, dq, dk, dv;
  const float* log_sum;
  std::size_t log_sum_stride;
  float scale;
};

SgemmOperand rows_of(const Matrix& matrix, std::size_t first, Transpose transpose = Transpose::no) {
  return {matrix.at<float>(first), matrix.stride, transpose};
}

/// The queries [first, last). `is_first` is the tile of the last queries: it sees every key, so it
/// is done first and writes dk and dv, to which the others add.
void backward_tile(const Head& head, std::size_t first, std::size_t last, bool is_first, const Scratch& scratch) {
  const std::size_t queries = last - first, size = head.q.columns;
  float *p = scratch.scores.f32(), *ds = scratch.dscores.f32();
  sgemm(queries, last, size, rows_of(head.q, first), rows_of(head.k, 0, Transpose::yes), p, last, false);
  sgemm(queries, last, size, rows_of(head.dout, first), rows_of(head.v, 0, Transpose::yes), ds, last, false);
  launch_rows("attention_softmax_backward", 0, queries,
              bodies::CausalSoftmaxBackward{{p, last},
                                            {ds, last},
                                            first,
                                            last,
                                            head.scale,
                                            head.log_sum + first * head.log_sum_stride,
                                            head.log_sum_stride,
                                            scratch.delta.f32() + first});
  sgemm(last, size, queries, {p, last, Transpose::yes}, rows_of(head.dout, first), head.dv.f32(), head.dv.stride,
        !is_first);
  sgemm(last, size, queries, {ds, last, Transpose::yes}, rows_of(head.q, first), head.dk.f32(), head.dk.stride,
        !is_first);
  sgemm(queries, size, last, {ds, last}, rows_of(head.k, 0), head.dq.at<float>(first), head.dq.stride, false);
}

void delta_rows(const Matrix& out, const Matrix& dout, float* delta) {
  with_type(out.type, [&](auto element) {
    using T = decltype(element);
    launch_rows("attention_delta", 0, out.rows,
                bodies::AttentionDelta<T>{read_rows<T>(out), read_rows<T>(dout), out.columns, delta});
  });
}

/// Where f32 gradients of `matrix` are summed: in place, or in `scratch` until they are rounded.
Matrix sums_for(const Matrix& matrix, const Tensor& scratch) {
  return matrix.type == DType::f32 ? matrix : scratch.matrix();
}

}  // namespace

void attention_backward(const Matrix& qkv, const Matrix& out, const float* log_sum, const Matrix& dout,
                        std::size_t samples, std::size_t sequence_length, std::size_t heads, const Matrix& dqkv,
                        Arena& workspace) {
  const AttentionShape shape(qkv, samples, sequence_length, heads);
  const Scratch scratch(shape, qkv.type, workspace);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    for (std::size_t number = 0; number < heads; ++number) {
      const auto part = [&](const Matrix& m, std::size_t which) { return shape.part(m, sample, number, which); };
      const Matrix dout_head = shape.head_of(dout, sample, number);
      delta_rows(shape.head_of(out, sample, number), dout_head, scratch.delta.f32());
      const Head head{as_f32(part(qkv, 0), scratch.q),
                      as_f32(part(qkv, 1), scratch.k),
                      as_f32(part(qkv, 2), scratch.v),
                      as_f32(dout_head, scratch.dout),
                      sums_for(part(dqkv, 0), scratch.dq),
                      sums_for(part(dqkv, 1), scratch.dk),
                      sums_for(part(dqkv, 2), scratch.dv),
                      shape.log_sum_of(log_sum, sample, number),
                      heads,
                      shape.scale()};
      for (std::size_t last = sequence_length; last > 0;) {
        const std::size_t first = (last - 1) / attention_tile * attention_tile;
        backward_tile(head, first, last, last == sequence_length, scratch);
        last = first;
      }
      if (dqkv.type == DType::f32) continue;
      convert(head.dq, part(dqkv, 0));
      convert(head.dk, part(dqkv, 1));
      convert(head.dv, part(dqkv, 2));
    }
  }
}

}  // namespace pptrain::kernels
