#include "kernels/attention_head.hpp"
#include "kernels/host_attention.hpp"
#include "kernels/launch.hpp"

namespace pptrain {

using namespace kernels;

namespace {

struct ForwardScratch {
  Tensor q, transposed_k, v, scores, weighted, inverse_sum;

  ForwardScratch(const AttentionShape& shape, Arena& arena)
      : q(shape.rows(arena)),
        transposed_k(shape.transposed(arena)),
        v(shape.rows(arena)),
        scores(shape.scores(arena)),
        weighted(arena, attention_tile, v.columns()),
        inverse_sum(arena, 1, attention_tile) {}
};

/// The queries [first, last) of one head: out = softmax(scale q k^T) v.
void forward_tile(const Matrix& q, const ForwardScratch& s, std::size_t first, std::size_t last, float scale,
                  float* log_sum, std::size_t heads, const Matrix& out) {
  causal_scores(q, s.transposed_k, first, last, s.scores);
  launch_rows("attention_softmax", 0, last - first,
              bodies::CausalSoftmax{write_rows<float>(s.scores), first, scale, s.inverse_sum.f32(),
                                    log_sum + first * heads, heads});
  causal_values(s.scores, s.v, first, last, s.weighted);
  with_type(out.type, [&](auto element) {
    using T = decltype(element);
    launch_rows(
        "attention_output", 0, last - first,
        bodies::AttentionOutput<T>{read_rows<float>(s.weighted), write_rows<T>(out.rows_from(first, last - first)),
                                   out.columns, s.inverse_sum.f32()});
  });
}

}  // namespace

void HostAttention::forward(const Matrix& qkv, std::size_t samples, std::size_t sequence_length, std::size_t heads,
                            const Matrix& out, float* log_sum, Arena& workspace) {
  const AttentionShape shape(qkv, samples, sequence_length, heads);
  const ForwardScratch scratch(shape, workspace);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    for (std::size_t head = 0; head < heads; ++head) {
      const Matrix q = as_left(shape.part(qkv, sample, head, 0), scratch.q);
      copy_transposed(shape.part(qkv, sample, head, 1), scratch.transposed_k);
      copy_rows(shape.part(qkv, sample, head, 2), scratch.v);
      for (std::size_t first = 0; first < sequence_length; first += attention_tile) {
        forward_tile(q, scratch, first, std::min(sequence_length, first + attention_tile), shape.scale(),
                     shape.log_sum_of(log_sum, sample, head), heads, shape.head_of(out, sample, head));
      }
    }
  }
}

Attention& host_attention() {
  static HostAttention attention;
  return attention;
}

}  // namespace pptrain
