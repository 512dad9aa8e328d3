#include "kernels/host/cached_attention.hpp"

#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "kernels/bodies/math.hpp"
#include "kernels/bodies/typed_rows.hpp"
#include "kernels/host/attention_head.hpp"
#include "kernels/host/launch.hpp"

namespace pptrain {

using namespace kernels;

namespace {

/// Keys [begin, end) of one head that a query sees, and the weights that it gives them.
struct WeighedKeys {
  std::size_t begin, end;
  std::vector<float> weights;

  WeighedKeys(const AttentionForm& form, std::size_t query)
      : begin(SeenKeys(form, 0).first_of(query)), end(query + 1), weights(end - begin) {}
};

/// weights = softmax(scale q k^T), or of scores within the form's cap.
template <class T>
void weigh(const AttentionForm& form, const T* q, const Matrix& k, std::size_t column,
           WeighedKeys& keys) {
  float largest = -HUGE_VALF;
  for (std::size_t j = keys.begin; j < keys.end; ++j) {
    const T* key = k.at<T>(j, column);
    float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
    for (std::size_t c = 0; c < form.head_size; ++c)
      sum += static_cast<float>(q[c]) * static_cast<float>(key[c]);
    const float score =
        form.cap > 0.0F ? soft_cap(form.scale * sum, form.cap).value : form.scale * sum;
    keys.weights[j - keys.begin] = score;
    largest = std::max(largest, score);
  }
  float total = 0.0F;
  for (float& weight : keys.weights) total += weight = std::exp(weight - largest);
  for (float& weight : keys.weights) weight /= total;
}

/// One query of one head.
template <class T>
struct HeadQuery {
  std::size_t place;  ///< among the positions
  std::size_t head;
  const T* values;
};

template <class T>
void attend_query(const AttentionForm& form, const HeadQuery<T>& query, const Matrix& k,
                  const Matrix& v, T* out) {
  const std::size_t column = form.key_head_of(query.head) * form.head_size;
  WeighedKeys keys(form, query.place);
  weigh(form, query.values, k, column, keys);
  std::vector<float> sums(form.head_size, 0.0F);
  for (std::size_t j = keys.begin; j < keys.end; ++j) {
    const T* value = v.at<T>(j, column);
    const float weight = keys.weights[j - keys.begin];
#pragma omp simd
    for (std::size_t c = 0; c < form.head_size; ++c)
      sums[c] += weight * static_cast<float>(value[c]);
  }
  for (std::size_t c = 0; c < form.head_size; ++c) out[c] = static_cast<T>(sums[c]);
}

}  // namespace

void attend_cached(const AttentionForm& form, const Matrix& q, const Matrix& k, const Matrix& v,
                   const Matrix& out) {
  const std::size_t length = form.sequence_length, queries = form.heads * form.head_size;
  PPTRAIN_ASSERT(form.samples == 1 && q.rows <= length && out.rows == q.rows && k.rows == length &&
                     v.rows == length,
                 "{} queries, {} keys and {} values of {} tokens", q.rows, k.rows, v.rows, length);
  PPTRAIN_ASSERT(q.columns == queries && out.columns == queries &&
                     k.columns == form.key_heads * form.head_size && v.columns == k.columns &&
                     q.type == k.type && q.type == v.type && q.type == out.type,
                 "{} columns of queries, {} of keys, {} of values", q.columns, k.columns,
                 v.columns);
  with_type(q.type, [&](auto element) {
    using T = decltype(element);
    Kokkos::parallel_for("cached_attention", pieces(q.rows * form.heads), [&](std::size_t i) {
      const std::size_t row = i / form.heads, head = i % form.heads;
      const std::size_t column = head * form.head_size;
      attend_query<T>(form, {length - q.rows + row, head, q.at<T>(row, column)}, k, v,
                      out.at<T>(row, column));
    });
  });
}

}  // namespace pptrain
