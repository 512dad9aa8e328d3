#include <algorithm>

#include "kernels/attention_head.hpp"
#include "kernels/bodies/attention.hpp"
#include "kernels/launch.hpp"
#include "kernels/sgemm.hpp"

namespace pptrain::kernels {
namespace {

/// Scratch of the forward pass, for one head at a time.
struct Scratch {
  Tensor scores, weighted, inverse_sum, q, k, v;

  Scratch(const AttentionShape& shape, DType type, Arena& arena)
      : scores(arena, attention_tile, shape.sequence_length),
        weighted(arena, attention_tile, shape.head_size),
        inverse_sum(arena, 1, attention_tile) {
    if (type == DType::f32) return;
    for (Tensor* copy : {&q, &k, &v}) *copy = Tensor(arena, shape.sequence_length, shape.head_size);
  }
};

/// The queries [first, last) of one head: out = softmax(scale q k^T) v.
void forward_tile(const Matrix& q, const Matrix& k, const Matrix& v, std::size_t first, std::size_t last, float scale,
                  float* log_sum, std::size_t heads, const Matrix& out, const Scratch& scratch) {
  const std::size_t queries = last - first, head_size = q.columns;
  sgemm(queries, last, head_size, {q.at<float>(first), q.stride}, {k.f32(), k.stride, Transpose::yes},
        scratch.scores.f32(), last, false);
  launch_rows(
      "attention_softmax", 0, queries,
      bodies::CausalSoftmax{
          {scratch.scores.f32(), last}, first, last, scale, scratch.inverse_sum.f32(), log_sum + first * heads, heads});
  sgemm(queries, head_size, last, {scratch.scores.f32(), last}, {v.f32(), v.stride}, scratch.weighted.f32(), head_size,
        false);
  with_type(out.type, [&](auto element) {
    using T = decltype(element);
    launch_rows("attention_output", 0, queries,
                bodies::AttentionOutput<T>{{scratch.weighted.f32(), head_size},
                                           write_rows<T>(out.rows_from(first, queries)),
                                           head_size,
                                           scratch.inverse_sum.f32()});
  });
}

}  // namespace

void attention_forward(const Matrix& qkv, std::size_t samples, std::size_t sequence_length, std::size_t heads,
                       const Matrix& out, float* log_sum, Arena& workspace) {
  const AttentionShape shape(qkv, samples, sequence_length, heads);
  const Scratch scratch(shape, qkv.type, workspace);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    for (std::size_t head = 0; head < heads; ++head) {
      const Matrix q = as_f32(shape.part(qkv, sample, head, 0), scratch.q);
      const Matrix k = as_f32(shape.part(qkv, sample, head, 1), scratch.k);
      const Matrix v = as_f32(shape.part(qkv, sample, head, 2), scratch.v);
      for (std::size_t first = 0; first < sequence_length; first += attention_tile) {
        forward_tile(q, k, v, first, std::min(sequence_length, first + attention_tile), shape.scale(),
                     shape.log_sum_of(log_sum, sample, head), heads, shape.head_of(out, sample, head), scratch);
      }
    }
  }
}

}  // namespace pptrain::kernels
