#include "kernels/host/attention_head.hpp"
#include "kernels/host/host_attention.hpp"
#include "kernels/host/launch.hpp"

namespace pptrain {

using namespace kernels;

namespace {

struct ForwardScratch {
  Tensor q, transposed_k, v, scores, weighted, inverse_sum;

  ForwardScratch(const AttentionForm& form, Arena& arena)
      : q(scratch_rows(form, arena)),
        transposed_k(scratch_transposed(form, arena)),
        v(scratch_keys(form, arena)),
        scores(scratch_scores(form, arena)),
        weighted(arena, attention_tile, v.columns()),
        inverse_sum(arena, 1, attention_tile) {}
};

/// The queries of one head and what they give.
struct HeadQueries {
  std::size_t head;
  Matrix q;
  Matrix out;
  float* log_sum;  ///< of the first one
};

/// A tile of queries of one head: out = softmax(scale q k^T + bias) v, or of scores within a cap.
void forward_tile(const AttentionForm& form, const QueryTile& tile, const HeadQueries& of,
                  const ForwardScratch& s) {
  causal_scores(tile, of.q, s.transposed_k, s.scores);
  add_bias(form, tile, of.head, s.scores);
  launch_rows("attention_softmax", 0, tile.size(),
              bodies::CausalSoftmax{write_rows<float>(s.scores), causal_rows(tile),
                                    softmax_scale(form), s.inverse_sum.f32(),
                                    of.log_sum + tile.first * form.heads, form.heads, form.cap});
  causal_values(tile, s.scores, s.v, s.weighted);
  with_type(of.out.type, [&](auto element) {
    using T = decltype(element);
    launch_rows("attention_output", 0, tile.size(),
                bodies::AttentionOutput<T>{read_rows<float>(s.weighted),
                                           write_rows<T>(of.out.rows_from(tile.first, tile.size())),
                                           of.out.columns, s.inverse_sum.f32()});
  });
}

}  // namespace

void HostAttention::forward(const AttentionForwardCall& call, Arena& workspace) {
  check_attention(call.form, call.q, call.k, call.v, call.out);
  const ForwardScratch scratch(call.form, workspace);
  for (std::size_t sample = 0; sample < call.form.samples; ++sample) {
    const SeenKeys seen(call.form, sample);
    for (std::size_t head = 0; head < call.form.heads; ++head) {
      const std::size_t key_head = call.form.key_head_of(head);
      if (head == 0 || key_head != call.form.key_head_of(head - 1)) {
        copy_transposed(keys_of(call.form, call.k, sample, key_head), scratch.transposed_k);
        copy_rows(keys_of(call.form, call.v, sample, key_head), scratch.v);
      }
      const HeadQueries queries = {head,
                                   as_left(head_of(call.form, call.q, sample, head), scratch.q),
                                   head_of(call.form, call.out, sample, head),
                                   log_sum_of(call.form, call.log_sum, sample, head)};
      for (std::size_t first = 0; first < call.form.sequence_length; first += attention_tile) {
        forward_tile(call.form, QueryTile(seen, first), queries, scratch);
      }
    }
  }
}

Attention& host_attention() {
  static HostAttention attention;
  return attention;
}

}  // namespace pptrain
