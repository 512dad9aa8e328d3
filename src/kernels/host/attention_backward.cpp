#include "kernels/host/attention_head.hpp"
#include "kernels/host/host_attention.hpp"
#include "kernels/host/launch.hpp"
#include "kernels/kernels.hpp"

namespace pptrain {

using namespace kernels;

namespace {

struct BackwardScratch {
  Tensor q, k, transposed_k, transposed_v, dout, delta, scores, dscores, dq, dk, dv;

  BackwardScratch(const AttentionForm& form, bool in_place, Arena& arena)
      : q(scratch_rows(form, arena)),
        k(scratch_keys(form, arena)),
        transposed_k(scratch_transposed(form, arena)),
        transposed_v(scratch_transposed(form, arena)),
        dout(scratch_rows(form, arena)),
        delta(arena, form.heads, form.sequence_length),
        scores(scratch_scores(form, arena)),
        dscores(scratch_scores(form, arena)) {
    if (in_place) return;
    dq = scratch_rows(form, arena);
    for (Tensor* sums : {&dk, &dv}) *sums = scratch_keys(form, arena);
  }
};

/// One head: where its gradients are summed, and what the forward pass left.
struct Head {
  std::size_t number;
  Matrix dq, dk, dv;
  bool adds_to_keys;  ///< an earlier query head has written dk and dv
  const float* log_sum;
  const float* delta;
};

/// gradient (T, head_size) = or += tile^T rows, for the keys that the tile's queries see. Tiles
/// come from the last one on: the first of them that sees a group of keys writes, unless an earlier
/// head has done so; the others add.
void add_key_gradient(const QueryTile& tile, bool adds, const Matrix& scores, const Matrix& rows,
                      const Matrix& gradient) {
  for (std::size_t key = tile.first_key; key < tile.last_key(); key += panel_rows) {
    const std::size_t count = std::min(panel_rows, tile.last_key() - key);
    // Queries before `query` do not see these keys, nor do those from `end` on.
    const std::size_t query = std::max(tile.first, tile.seen.first_query_of(key));
    const std::size_t end = tile.seen.end_of(key + panel_rows - 1);
    if (end <= query) continue;
    const LeftOperand left{scores.at<float>(query - tile.first, key - tile.first_key), 1,
                           scores.stride};
    multiply_panels({count, rows.columns / panel_width, std::min(tile.last, end) - query}, left,
                    right_rows(rows, query), gradient.at<float>(key), gradient.stride,
                    adds || end > tile.last);
  }
}

/// A tile of queries of one head. P = softmax, dS = P * (dO V^T - delta) * scale, what is before
/// `scale` being the gradient of a bias; dV += P^T dO, dK += dS^T Q, dQ = dS K.
void backward_tile(const AttentionForm& form, const QueryTile& tile, const Head& head,
                   const BackwardScratch& s) {
  causal_scores(tile, s.q, s.transposed_k, s.scores);
  add_bias(form, tile, head.number, s.scores);
  causal_scores(tile, s.dout, s.transposed_v, s.dscores);
  launch_rows("attention_softmax_backward", 0, tile.size(),
              bodies::CausalSoftmaxBackward{
                  write_rows<float>(s.scores), write_rows<float>(s.dscores), causal_rows(tile),
                  softmax_scale(form), head.log_sum + tile.first * form.heads, form.heads,
                  head.delta + tile.first, form.cap});
  add_bias_gradient(form, tile, head.number, s.dscores);
  add_key_gradient(tile, head.adds_to_keys, s.scores, s.dout, head.dv);
  add_key_gradient(tile, head.adds_to_keys, s.dscores, s.q, head.dk);
  causal_values(tile, s.dscores, s.k, head.dq.rows_from(tile.first, tile.size()));
}

/// delta for all heads and queries of a sample, heads side by side like `out`'s columns.
void delta_rows(const AttentionForm& form, const Matrix& out, const Matrix& dout,
                std::size_t sample, float* delta) {
  with_type(out.type, [&](auto element) {
    using T = decltype(element);
    launch_rows(
        "attention_delta", 0, form.sequence_length,
        bodies::AttentionDelta<T>{read_rows<T>(out.rows_from(sample * form.sequence_length, 0)),
                                  read_rows<T>(dout.rows_from(sample * form.sequence_length, 0)),
                                  form.heads, form.head_size, delta, form.sequence_length});
  });
}

Matrix sums_of(const Matrix& gradient, const Tensor& scratch) {
  return is_panels(gradient) ? gradient : scratch.matrix();
}

/// Moves sums that were made in scratch to where they belong.
void put(const Matrix& sums, const Matrix& gradient) {
  if (sums.data != gradient.data)
    host_kernels().convert(sums.columns_from(0, gradient.columns), gradient);
}

bool is_first_of_key(const AttentionForm& form, std::size_t head) {
  return head == 0 || form.key_head_of(head - 1) != form.key_head_of(head);
}

bool is_last_of_key(const AttentionForm& form, std::size_t head) {
  return head + 1 == form.heads || is_first_of_key(form, head + 1);
}

/// Copies of one head's inputs; those of its key head stay from one query head to the next.
void load(const AttentionBackwardCall& call, std::size_t sample, std::size_t head,
          const BackwardScratch& s) {
  const AttentionForm& form = call.form;
  copy_rows(head_of(form, call.q, sample, head), s.q);
  copy_rows(head_of(form, call.dout, sample, head), s.dout);
  if (!is_first_of_key(form, head)) return;
  const Matrix keys = keys_of(form, call.k, sample, form.key_head_of(head));
  copy_rows(keys, s.k);
  copy_transposed(keys, s.transposed_k);
  copy_transposed(keys_of(form, call.v, sample, form.key_head_of(head)), s.transposed_v);
}

/// No query adds to the gradients of keys that none sees.
void clear_unseen(const SeenKeys& seen, const Head& head) {
  for (const Matrix& gradient : {head.dk, head.dv}) {
    for (std::size_t key = seen.keys; key < gradient.rows; ++key) {
      std::fill_n(gradient.at<float>(key), gradient.columns, 0.0F);
    }
  }
}

void backward_head(const AttentionBackwardCall& call, std::size_t sample, std::size_t number,
                   const BackwardScratch& s) {
  const AttentionForm& form = call.form;
  const std::size_t key_head = form.key_head_of(number);
  const Matrix dq = head_of(form, call.dq, sample, number),
               dk = keys_of(form, call.dk, sample, key_head),
               dv = keys_of(form, call.dv, sample, key_head);
  const Head head{number,
                  sums_of(dq, s.dq),
                  sums_of(dk, s.dk),
                  sums_of(dv, s.dv),
                  !is_first_of_key(form, number),
                  log_sum_of(form, call.log_sum, sample, number),
                  s.delta.f32() + number * form.sequence_length};
  const SeenKeys seen(form, sample);
  if (!head.adds_to_keys) clear_unseen(seen, head);
  for (std::size_t last = form.sequence_length; last > 0;) {
    const QueryTile tile(seen, (last - 1) / attention_tile * attention_tile);
    backward_tile(form, tile, head, s);
    last = tile.first;
  }
  put(head.dq, dq);
  if (!is_last_of_key(form, number)) return;
  put(head.dk, dk);
  put(head.dv, dv);
}

}  // namespace

void HostAttention::backward(const AttentionBackwardCall& call, Arena& workspace) {
  check_attention(call.form, call.q, call.k, call.v, call.out);
  check_attention(call.form, call.dq, call.dk, call.dv, call.dout);
  const bool in_place = call.form.heads == 0 || is_panels(head_of(call.form, call.dq, 0, 0));
  const BackwardScratch scratch(call.form, in_place, workspace);
  for (std::size_t sample = 0; sample < call.form.samples; ++sample) {
    delta_rows(call.form, call.out, call.dout, sample, scratch.delta.f32());
    for (std::size_t head = 0; head < call.form.heads; ++head) {
      load(call, sample, head, scratch);
      backward_head(call, sample, head, scratch);
    }
  }
}

}  // namespace pptrain
