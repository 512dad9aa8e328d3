#ifdef PPTRAIN_HAVE_CUDNN

#include "cuda/cudnn_attention_graphs.hpp"

namespace pptrain::cuda {
namespace {

constexpr cudnnDataType_t fp32 = CUDNN_DATA_FLOAT;

/// Sizes and strides of the tensors of one attention: B samples, H heads, or G of the keys, T
/// queries, K keys, D elements of a head.
class Shapes {
 public:
  explicit Shapes(const CudnnAttentionShape& s) : s_(s) {}

  CudnnFour heads() const { return {s_.samples, s_.heads, s_.length, s_.head_size}; }
  CudnnFour key_heads() const { return {s_.samples, s_.key_heads, s_.keys, s_.head_size}; }
  CudnnFour key_heads_transposed() const {
    return {s_.samples, s_.key_heads, s_.head_size, s_.keys};
  }
  /// The keys of each query head, where these share key heads.
  CudnnFour spread_key_heads() const { return {s_.samples, s_.heads, s_.keys, s_.head_size}; }
  CudnnFour scores() const { return {s_.samples, s_.heads, s_.length, s_.keys}; }
  CudnnFour scores_transposed() const { return {s_.samples, s_.heads, s_.keys, s_.length}; }
  CudnnFour rows() const { return {s_.samples, s_.heads, s_.length, 1}; }

  /// The strides of heads that lie side by side in rows of a matrix, for `length` positions of a
  /// sample.
  CudnnFour in_matrix(std::int64_t stride, std::int64_t length) const {
    return {length * stride, s_.head_size, stride, 1};
  }
  CudnnFour in_matrix_transposed(std::int64_t stride, std::int64_t length) const {
    return {length * stride, s_.head_size, 1, stride};
  }
  CudnnFour packed_heads(std::int64_t length) const {
    return {s_.heads * length * s_.head_size, length * s_.head_size, s_.head_size, 1};
  }
  CudnnFour packed_scores() const {
    return {s_.heads * s_.length * s_.keys, s_.length * s_.keys, s_.keys, 1};
  }
  CudnnFour packed_scores_transposed() const {
    return {s_.heads * s_.length * s_.keys, s_.length * s_.keys, 1, s_.keys};
  }
  CudnnFour packed_rows() const { return {s_.heads * s_.length, s_.length, 1, 1}; }

 private:
  const CudnnAttentionShape& s_;
};

/// Operations on scores, each of which gives new scores.
class Scores {
 public:
  Scores(CudnnGraph& graph, const Shapes& shapes) : graph_(graph), shapes_(shapes) {}

  CudnnTensor tensor(cudnnDataType_t type = fp32) {
    return graph_.inner(type, shapes_.scores(), shapes_.packed_scores());
  }
  CudnnTensor product(CudnnTensor a, CudnnTensor b) {
    const CudnnTensor c = tensor();
    graph_.multiply(c, a, b);
    return c;
  }
  CudnnTensor apply(cudnnPointwiseMode_t mode, CudnnTensor x, std::optional<CudnnTensor> b = {}) {
    const CudnnTensor y = tensor();
    graph_.pointwise(mode, y, x, b);
    return y;
  }
  /// x where the query sees the key, else `lowest`, which causal attention has: a key that is not
  /// behind the query, nor `window` positions or more before it.
  CudnnTensor seen(CudnnTensor x, std::optional<CudnnTensor> lowest,
                   std::optional<CudnnTensor> window) {
    if (!lowest) return x;
    const CudnnTensor query = index(x, 2), key = index(x, 3);
    const CudnnTensor before = select(CUDNN_POINTWISE_CMP_GE, query, key, x, *lowest);
    if (!window) return before;
    const CudnnTensor row = index(before, 2), column = index(before, 3), end = tensor();
    graph_.pointwise(CUDNN_POINTWISE_ADD, end, column, *window);
    return select(CUDNN_POINTWISE_CMP_GT, end, row, before, *lowest);
  }
  CudnnTensor transposed(CudnnTensor x, cudnnDataType_t type) {
    const CudnnTensor y =
        graph_.inner(type, shapes_.scores_transposed(), shapes_.packed_scores_transposed());
    graph_.reshape(y, x);
    return y;
  }

 private:
  /// The number of a score along an axis.
  CudnnTensor index(CudnnTensor x, std::int64_t axis) {
    const CudnnTensor number = tensor(CUDNN_DATA_INT32);
    graph_.pointwise(CUDNN_POINTWISE_GEN_INDEX, number, x, {}, {}, fp32, axis);
    return number;
  }
  /// x where a and b compare so, else `other`.
  CudnnTensor select(cudnnPointwiseMode_t comparison, CudnnTensor a, CudnnTensor b, CudnnTensor x,
                     CudnnTensor other) {
    const CudnnTensor holds = tensor(CUDNN_DATA_BOOLEAN), y = tensor();
    graph_.pointwise(comparison, holds, a, b, {}, CUDNN_DATA_BOOLEAN);
    graph_.pointwise(CUDNN_POINTWISE_BINARY_SELECT, y, x, other, holds);
    return y;
  }

  CudnnGraph& graph_;
  const Shapes& shapes_;
};

}  // namespace

CudnnForward::CudnnForward(const CudnnAttentionShape& s) {
  const Shapes shapes(s);
  Scores on(graph, shapes);
  const auto row = [&] { return graph.inner(fp32, shapes.rows(), shapes.packed_rows()); };
  q = graph.real(s.type, shapes.heads(), shapes.in_matrix(s.q_stride, s.length));
  k = graph.real(s.type, shapes.key_heads_transposed(),
                 shapes.in_matrix_transposed(s.k_stride, s.keys));
  v = graph.real(s.type, shapes.key_heads(), shapes.in_matrix(s.v_stride, s.keys));
  scale = graph.scalar();
  if (s.causal) lowest = graph.scalar();
  if (s.window != 0) window = graph.scalar();
  out = graph.real(s.type, shapes.heads(), shapes.in_matrix(s.out_stride, s.length));
  log_sum = graph.real(fp32, shapes.rows(), shapes.packed_rows());

  const CudnnTensor scores =
      on.seen(on.apply(CUDNN_POINTWISE_MUL, on.product(q, k), scale), lowest, window);
  const CudnnTensor largest = row(), sum = row(), log = row(), probabilities = on.tensor(s.type);
  graph.reduce(CUDNN_REDUCE_TENSOR_MAX, largest, scores);
  const CudnnTensor exponentials =
      on.apply(CUDNN_POINTWISE_EXP, on.apply(CUDNN_POINTWISE_SUB, scores, largest));
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, sum, exponentials);
  graph.pointwise(CUDNN_POINTWISE_LOG, log, sum);
  graph.pointwise(CUDNN_POINTWISE_ADD, log_sum, largest, log);
  graph.pointwise(CUDNN_POINTWISE_DIV, probabilities, exponentials, sum);
  graph.multiply(out, probabilities, v);
}

CudnnBackward::CudnnBackward(const CudnnAttentionShape& s) {
  const Shapes shapes(s);
  Scores on(graph, shapes);
  q = graph.real(s.type, shapes.heads(), shapes.in_matrix(s.q_stride, s.length));
  k = graph.real(s.type, shapes.key_heads_transposed(),
                 shapes.in_matrix_transposed(s.k_stride, s.keys));
  v = graph.real(s.type, shapes.key_heads_transposed(),
                 shapes.in_matrix_transposed(s.v_stride, s.keys));
  out = graph.real(s.type, shapes.heads(), shapes.in_matrix(s.out_stride, s.length));
  dout = graph.real(s.type, shapes.heads(), shapes.in_matrix(s.out_stride, s.length));
  log_sum = graph.real(fp32, shapes.rows(), shapes.packed_rows());
  scale = graph.scalar();
  if (s.causal) lowest = graph.scalar();
  if (s.window != 0) window = graph.scalar();
  one = graph.scalar();
  dq = graph.real(s.type, shapes.heads(), shapes.in_matrix(s.q_stride, s.length));
  dk = graph.real(s.type, shapes.key_heads(), shapes.in_matrix(s.k_stride, s.keys));
  dv = graph.real(s.type, shapes.key_heads(), shapes.in_matrix(s.v_stride, s.keys));
  if (s.key_heads != s.heads) {
    dk_parts = graph.real(s.type, shapes.spread_key_heads(), shapes.packed_heads(s.keys));
    dv_parts = graph.real(s.type, shapes.spread_key_heads(), shapes.packed_heads(s.keys));
  }
  delta = graph.real(fp32, shapes.rows(), shapes.packed_rows());
  dq_sums = graph.real(fp32, shapes.heads(), shapes.packed_heads(s.length));

  // delta = sum of dout * out; the product with one is where cuDNN's pattern has the rate of a
  // dropout.
  const CudnnTensor mixed = graph.inner(fp32, shapes.heads(), shapes.packed_heads(s.length));
  const CudnnTensor mixed_sum = graph.inner(fp32, shapes.rows(), shapes.packed_rows());
  graph.pointwise(CUDNN_POINTWISE_MUL, mixed, dout, out);
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, mixed_sum, mixed);
  graph.pointwise(CUDNN_POINTWISE_MUL, delta, mixed_sum, one);

  const CudnnTensor scores = on.apply(CUDNN_POINTWISE_MUL, on.product(q, k), scale);
  const CudnnTensor shifted =
      on.seen(on.apply(CUDNN_POINTWISE_SUB, scores, log_sum), lowest, window);
  const CudnnTensor probabilities = on.apply(CUDNN_POINTWISE_EXP, shifted);
  graph.multiply(dv_parts.value_or(dv), on.transposed(probabilities, s.type), dout);
  if (dv_parts) graph.reduce(CUDNN_REDUCE_TENSOR_ADD, dv, *dv_parts);

  const CudnnTensor dprobabilities = on.apply(CUDNN_POINTWISE_SUB, on.product(dout, v), delta);
  const CudnnTensor dscores = on.apply(
      CUDNN_POINTWISE_MUL, on.apply(CUDNN_POINTWISE_MUL, dprobabilities, probabilities), scale);
  graph.multiply(dk_parts.value_or(dk), on.transposed(dscores, s.type), q);
  if (dk_parts) graph.reduce(CUDNN_REDUCE_TENSOR_ADD, dk, *dk_parts);

  const CudnnTensor keys =
      graph.inner(s.type, shapes.key_heads(), shapes.in_matrix(s.k_stride, s.keys));
  graph.reshape(keys, k);
  graph.multiply(dq_sums, dscores, keys);
  graph.pointwise(CUDNN_POINTWISE_IDENTITY, dq, dq_sums);
}

}  // namespace pptrain::cuda

#endif
