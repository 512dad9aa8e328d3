#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/attention.hpp"
#include "kernels/test_matrix.hpp"

namespace pptrain::test {

/// Sizes and rules of an attention, its queries, keys and values side by side in one matrix.
struct AttentionCase {
  std::size_t samples, length, heads, head_size;
  std::size_t group = 1, first = 0, window = 0;
  double scale_factor = 1.0;
  /// Lengths of documents, over and over; a sample begins with the one that has its number. Empty:
  /// samples are not divided.
  std::vector<std::size_t> documents = {};
  bool causal = true;
  double cap = 0.0;  ///< that scaled scores are held within; 0: none

  AttentionForm form() const {
    AttentionForm form = multi_head(samples, length, heads, head_size);
    form.group = group;
    form.first = first;
    form.key_heads = (first + heads + group - 1) / group;
    form.window = window;
    form.causal = causal;
    form.scale *= static_cast<float>(scale_factor);
    form.cap = static_cast<float>(cap);
    return form;
  }
  std::size_t rows() const { return samples * length; }
  std::size_t width() const { return heads * head_size; }
  std::size_t key_width() const { return form().key_heads * head_size; }
  /// AttentionForm's; empty without documents.
  std::vector<std::int32_t> document_begin() const {
    std::vector<std::int32_t> begins;
    for (std::size_t s = 0; s < samples && !documents.empty(); ++s) {
      for (std::size_t begin = 0, number = s; begin < length; ++number) {
        const std::size_t end = std::min(length, begin + documents[number % documents.size()]);
        begins.insert(begins.end(), end - begin, static_cast<std::int32_t>(begin));
        begin = end;
      }
    }
    return begins;
  }
  /// Columns of queries, keys and values side by side.
  std::size_t qkv_width() const { return width() + 2 * key_width(); }
  /// The queries (0), keys (1) or values (2) of a matrix that has them side by side.
  Matrix part(const Matrix& qkv, std::size_t which) const {
    return which == 0 ? qkv.columns_from(0, width())
                      : qkv.columns_from(width() + (which - 1) * key_width(), key_width());
  }
};

/// Attention with the whole matrix of probabilities, in double.
class AttentionReference {
 public:
  AttentionReference(const AttentionCase& c, const TestMatrix& qkv, const TestMatrix& dout)
      : out(c.rows() * c.width(), 0.0),
        log_sum(c.rows() * c.heads, 0.0),
        dqkv(c.rows() * c.qkv_width(), 0.0),
        case_(c),
        document_begin_(c.document_begin()),
        qkv_(qkv),
        dout_(dout) {
    for (std::size_t s = 0; s < c.samples; ++s) {
      for (std::size_t h = 0; h < c.heads; ++h) {
        for (std::size_t i = 0; i < c.length; ++i) query(s, h, i);
      }
    }
  }

  Values out, log_sum, dqkv;

 private:
  std::size_t place(std::size_t s, std::size_t t, std::size_t part, std::size_t h,
                    std::size_t d) const {
    const std::size_t head = part == 0 ? h : (case_.first + h) / case_.group;
    const std::size_t before = part == 0 ? 0 : case_.width() + (part - 1) * case_.key_width();
    return (s * case_.length + t) * case_.qkv_width() + before + head * case_.head_size + d;
  }
  double value(std::size_t place_in_qkv) const {
    return qkv_.get(place_in_qkv / case_.qkv_width(), place_in_qkv % case_.qkv_width());
  }

  /// Forward and backward pass of query i.
  void query(std::size_t s, std::size_t h, std::size_t i) {
    const std::size_t size = case_.head_size, row = s * case_.length + i;
    const double scale = case_.scale_factor / std::sqrt(static_cast<double>(size));
    std::size_t begin = case_.window == 0 || i < case_.window ? 0 : i - case_.window + 1;
    if (!document_begin_.empty())
      begin = std::max(begin, static_cast<std::size_t>(document_begin_[row]));
    const std::size_t end = case_.causal ? i + 1 : case_.length;
    std::vector<double> p(end, 0.0), dp(end, 0.0), slope(end, scale);  // by which a score follows
                                                                       // its product
    double sum = 0, mixed = 0;
    for (std::size_t j = begin; j < end; ++j) {
      for (std::size_t d = 0; d < size; ++d)
        p[j] += value(place(s, i, 0, h, d)) * value(place(s, j, 1, h, d)) * scale;
      if (case_.cap > 0.0) {
        const double part = std::tanh(p[j] / case_.cap);
        p[j] = case_.cap * part;
        slope[j] *= 1.0 - part * part;
      }
      sum += std::exp(p[j]);
    }
    log_sum[row * case_.heads + h] = std::log(sum);
    for (std::size_t j = begin; j < end; ++j) {
      p[j] = std::exp(p[j]) / sum;
      for (std::size_t d = 0; d < size; ++d) {
        const double gradient = dout_.get(row, h * size + d);
        out[row * case_.width() + h * size + d] += p[j] * value(place(s, j, 2, h, d));
        dqkv[place(s, j, 2, h, d)] += p[j] * gradient;
        dp[j] += gradient * value(place(s, j, 2, h, d));
      }
      mixed += p[j] * dp[j];
    }
    for (std::size_t j = begin; j < end; ++j) {
      const double ds = p[j] * (dp[j] - mixed) * slope[j];
      for (std::size_t d = 0; d < size; ++d) {
        dqkv[place(s, i, 0, h, d)] += ds * value(place(s, j, 1, h, d));
        dqkv[place(s, j, 1, h, d)] += ds * value(place(s, i, 0, h, d));
      }
    }
  }

  AttentionCase case_;
  std::vector<std::int32_t> document_begin_;
  const TestMatrix& qkv_;
  const TestMatrix& dout_;
};

}  // namespace pptrain::test
