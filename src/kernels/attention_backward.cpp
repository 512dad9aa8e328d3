#include "kernels/attention_head.hpp"
#include "kernels/host_attention.hpp"
#include "kernels/kernels.hpp"
#include "kernels/launch.hpp"

namespace pptrain {

using namespace kernels;

namespace {

struct BackwardScratch {
  Tensor q, k, transposed_k, transposed_v, dout, delta, scores, dscores, dq, dk, dv;

  BackwardScratch(const AttentionShape& shape, bool in_place, Arena& arena)
      : q(shape.rows(arena)),
        k(shape.rows(arena)),
        transposed_k(shape.transposed(arena)),
        transposed_v(shape.transposed(arena)),
        dout(shape.rows(arena)),
        delta(arena, shape.heads, shape.sequence_length),
        scores(shape.scores(arena)),
        dscores(shape.scores(arena)) {
    if (in_place) return;
    for (Tensor* sums : {&dq, &dk, &dv}) *sums = shape.rows(arena);
  }
};

/// gradient (T, head_size) = or += tile^T rows, for the keys that the queries [first, last) see. The
/// tile of the last queries sees all of them, so it is done first and writes; the others add.
void add_key_gradient(const Matrix& tile, const Matrix& rows, std::size_t first, std::size_t last,
                      const Matrix& gradient) {
  for (std::size_t key = 0; key < last; key += panel_rows) {
    const std::size_t query = std::max(first, key);  // earlier queries do not see this key
    const LeftOperand left{tile.at<float>(query - first, key), 1, tile.stride};
    multiply_panels(std::min(panel_rows, last - key), rows.columns / panel_width, last - query, left,
                    right_rows(rows, query), gradient.at<float>(key), gradient.stride, last != gradient.rows);
  }
}

/// One head: where its gradients are summed, and what the forward pass left.
struct Head {
  Matrix dq, dk, dv;
  const float* log_sum;
  std::size_t log_sum_stride;
  const float* delta;
  float scale;
};

/// The queries [first, last) of one head. P = softmax, dS = P * (dO V^T - delta) * scale;
/// dV += P^T dO, dK += dS^T Q, dQ = dS K.
void backward_tile(const Head& head, const BackwardScratch& s, std::size_t first, std::size_t last) {
  causal_scores(s.q, s.transposed_k, first, last, s.scores);
  causal_scores(s.dout, s.transposed_v, first, last, s.dscores);
  launch_rows("attention_softmax_backward", 0, last - first,
              bodies::CausalSoftmaxBackward{write_rows<float>(s.scores), write_rows<float>(s.dscores), first,
                                            head.scale, head.log_sum + first * head.log_sum_stride, head.log_sum_stride,
                                            head.delta + first});
  add_key_gradient(s.scores, s.dout, first, last, head.dv);
  add_key_gradient(s.dscores, s.q, first, last, head.dk);
  causal_values(s.dscores, s.k, first, last, head.dq.rows_from(first, last - first));
}

/// Copies of one head's inputs.
void load(const AttentionShape& shape, const Matrix& qkv, const Matrix& dout, std::size_t sample, std::size_t head,
          const BackwardScratch& s) {
  copy_rows(shape.part(qkv, sample, head, 0), s.q);
  copy_rows(shape.part(qkv, sample, head, 1), s.k);
  copy_transposed(shape.part(qkv, sample, head, 1), s.transposed_k);
  copy_transposed(shape.part(qkv, sample, head, 2), s.transposed_v);
  copy_rows(shape.head_of(dout, sample, head), s.dout);
}

/// delta for all heads and queries of a sample, heads side by side like `out`'s columns.
void delta_rows(const AttentionShape& shape, const Matrix& out, const Matrix& dout, std::size_t sample, float* delta) {
  with_type(out.type, [&](auto element) {
    using T = decltype(element);
    launch_rows("attention_delta", 0, shape.sequence_length,
                bodies::AttentionDelta<T>{read_rows<T>(out.rows_from(sample * shape.sequence_length, 0)),
                                          read_rows<T>(dout.rows_from(sample * shape.sequence_length, 0)), shape.heads,
                                          shape.head_size, delta, shape.sequence_length});
  });
}

Matrix sums_of(const Matrix& gradient, const Tensor& scratch) {
  return is_panels(gradient) ? gradient : scratch.matrix();
}

/// Moves sums that were made in scratch to where they belong.
void put(const Matrix& sums, const Matrix& gradient) {
  if (sums.data != gradient.data) host_kernels().convert(sums.columns_from(0, gradient.columns), gradient);
}

void backward_head(const AttentionShape& shape, const Matrix& dqkv, std::size_t sample, std::size_t number,
                   const float* log_sum, const BackwardScratch& s) {
  const Matrix dq = shape.part(dqkv, sample, number, 0), dk = shape.part(dqkv, sample, number, 1),
               dv = shape.part(dqkv, sample, number, 2);
  const Head head{sums_of(dq, s.dq), sums_of(dk, s.dk),
                  sums_of(dv, s.dv), shape.log_sum_of(log_sum, sample, number),
                  shape.heads,       s.delta.f32() + number * shape.sequence_length,
                  shape.scale()};
  for (std::size_t last = shape.sequence_length; last > 0;) {
    const std::size_t first = (last - 1) / attention_tile * attention_tile;
    backward_tile(head, s, first, last);
    last = first;
  }
  put(head.dq, dq);
  put(head.dk, dk);
  put(head.dv, dv);
}

}  // namespace

void HostAttention::backward(const Matrix& qkv, const Matrix& out, const float* log_sum, const Matrix& dout,
                             std::size_t samples, std::size_t sequence_length, std::size_t heads, const Matrix& dqkv,
                             Arena& workspace) {
  const AttentionShape shape(qkv, samples, sequence_length, heads);
  const BackwardScratch scratch(shape, is_panels(shape.part(dqkv, 0, 0, 0)), workspace);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    delta_rows(shape, out, dout, sample, scratch.delta.f32());
    for (std::size_t head = 0; head < heads; ++head) {
      load(shape, qkv, dout, sample, head, scratch);
      backward_head(shape, dqkv, sample, head, log_sum, scratch);
    }
  }
}

}  // namespace pptrain
