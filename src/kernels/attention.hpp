#pragma once

#include <cstdint>
#include <string>

#include "tensor/tensor.hpp"

namespace pptrain {

/// Sizes and rules of one attention, as far as this member computes it: of a sample's positions to
/// each other, or of them to the positions of something else, which then have keys and values.
///
/// Heads are those that are here. Query heads share key heads (Ainslie et al., GQA,
/// arXiv:2305.13245): query head j uses key head (first + j) / group. A member's first query head
/// may lie inside a group, of which others have the rest.
struct AttentionForm {
  std::size_t samples = 0, sequence_length = 0;
  std::size_t heads = 0;      ///< of the queries
  std::size_t head_size = 0;  ///< elements of a head
  std::size_t key_heads = 0;  ///< (first + heads - 1) / group + 1: each is used by some query head
  std::size_t group = 1;      ///< query heads of a key head
  std::size_t first = 0;      ///< place of the first query head in its group, less than `group`
  float scale = 1.0f;         ///< of the scores before the softmax
  float cap = 0.0f;  ///< scaled scores s become cap tanh(s / cap), never with a bias; 0: they stay
                     ///< as they are
  std::size_t window = 0;  ///< position t sees (t - window, t]; 0: [0, t]
  bool causal = true;      ///< false: every position sees all; there is neither window nor document
                           ///< then
  /// (rows()) in the memory of the device: for each position, counted within its sample, the first
  /// one of its document, at most itself and not less than that of the position before. Position t
  /// sees none before it; null: all of them.
  const std::int32_t* document_begin = nullptr;
  std::size_t key_length = 0;  ///< positions of a sample's keys; 0: sequence_length, as always in
                               ///< causal attention
  /// (samples) in the memory of the device: so many keys of each sample are seen, at least one,
  /// those behind them are not; null: all of them. Never in causal attention.
  const std::int32_t* seen_keys = nullptr;
  /// (heads, distances()) f32: what is added to scaled scores, for key j of query i in column j - i
  /// + sequence_length - 1; null: nothing. The backward pass adds its gradient to `bias_gradient`,
  /// of the same shape.
  const float* bias = nullptr;
  float* bias_gradient = nullptr;

  std::size_t rows() const { return samples * sequence_length; }  ///< R, rows of queries
  std::size_t keys() const {
    return key_length == 0 ? sequence_length : key_length;
  }                                                          ///< positions of a sample's keys
  std::size_t key_rows() const { return samples * keys(); }  ///< K, rows of keys and values
  /// How far apart key and query may be, in all.
  std::size_t distances() const { return sequence_length + keys() - 1; }
  /// Whether all samples are alike, and nothing changes their scaled scores.
  bool is_plain() const { return seen_keys == nullptr && bias == nullptr && cap == 0.0f; }
  /// The key head, of those that are here, that a query head uses.
  std::size_t key_head_of(std::size_t head) const { return (first + head) / group; }
};

/// Arguments of a forward pass. R = samples * sequence_length rows, K = samples * keys(); k and v
/// may be columns of one matrix. Results overlap no argument.
struct AttentionForwardCall {
  AttentionForm form;
  Matrix q;        ///< (R, heads * head_size) T
  Matrix k, v;     ///< (K, key_heads * head_size) T
  Matrix out;      ///< of q's size: the result
  float* log_sum;  ///< (R * heads) f32, for the backward pass, in an order of the back end's own
};

/// Arguments of a backward pass, with out and log_sum as the forward pass left them.
struct AttentionBackwardCall {
  AttentionForm form;
  Matrix q, k, v, out;
  const float* log_sum;
  Matrix dout;        ///< the gradient of `out`
  Matrix dq, dk, dv;  ///< the results, of the sizes of q, k and v
};

/// Attention of one device, flash style: forward keeps per row and head only the log of the sum of
/// exponentials, backward recomputes the probabilities a tile at a time.
class Attention {
 public:
  virtual ~Attention() = default;
  /// Writes `out` and `log_sum`. Scratch comes from `workspace`.
  virtual void forward(const AttentionForwardCall& call, Arena& workspace) = 0;
  /// Writes dq, dk and dv; those of a key head are sums over its query heads here, in order.
  virtual void backward(const AttentionBackwardCall& call, Arena& workspace) = 0;
  /// For logs: "host", "cuDNN 9.19".
  virtual std::string name() const = 0;
};

/// Attention of as many key heads as query heads over all earlier positions, scaled by 1 /
/// sqrt(head_size).
AttentionForm multi_head(std::size_t samples, std::size_t sequence_length, std::size_t heads,
                         std::size_t head_size);

/// Fails where the matrices do not have the form's sizes, or q and k not one type.
void check_attention(const AttentionForm& form, const Matrix& q, const Matrix& k, const Matrix& v,
                     const Matrix& out);

/// The host's. Its workspace holds copies of one head and the scores of 48 queries: less than 8 T
/// head_size + 96 (T + 32) floats for T the longer of queries and keys, and (heads, T) floats in
/// the backward pass. Lives as long as the program.
Attention& host_attention();

}  // namespace pptrain
