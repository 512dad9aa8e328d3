#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "kernels/bodies/row_team.hpp"

/// LayerNorm (Ba et al., arXiv:1607.06450) and RMSNorm (Zhang and Sennrich, arXiv:1910.07467), a
/// row at a time.
///
/// RMSNorm is LayerNorm with a mean of 0: its bodies are the same, without the sums that belong to
/// the mean.
namespace pptrain::kernels::bodies {

/// What a norm does to a row: gain (columns), to which `unit` is added, and an offset, null for
/// none.
struct NormWeights {
  const float *gain, *offset;
  float unit;

  /// to = (source - centre) * inverse * (gain + unit) + offset.
  template <class Team, class X, class T>
  PPTRAIN_FUNCTION void apply(const Team& team, std::size_t columns, const X* source, float centre,
                              float inverse, T* to) const {
    const float *g = gain, *o = offset, one = unit;
    if (o != nullptr) {
      team.for_each(columns, [=](std::size_t c) {
        store(to[c], (float(source[c]) - centre) * inverse * (g[c] + one) + o[c]);
      });
    } else {
      team.for_each(columns, [=](std::size_t c) {
        store(to[c], (float(source[c]) - centre) * inverse * (g[c] + one));
      });
    }
  }
};

/// sum = x + y + bias, then normalised = (sum - mean) * rstd * (gain + unit) + offset.
template <class X, class T>
struct ResidualNorm {
  Rows<const X> x;
  Rows<const float> y;  // data null: the row of x is normalised as it is
  const float* bias;    // may be null
  Rows<X> sum;
  NormWeights weights;
  float epsilon;
  Rows<T> normalised;
  float *mean, *rstd;  // mean null: RMSNorm
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const X* source = x.row(row);
    if (y.data != nullptr) source = add(team, row);
    const auto count = static_cast<float>(columns);
    const float centre =
        mean != nullptr ? team.sum(columns, [=](std::size_t c) { return float(source[c]); }) / count
                        : 0.0f;
    const float variance = team.sum(columns, [=](std::size_t c) {
      const float distance = float(source[c]) - centre;
      return distance * distance;
    }) / count;
    const float inverse = 1.0f / std::sqrt(variance + epsilon);
    weights.apply(team, columns, source, centre, inverse, normalised.row(row));
    team.once([&] {
      if (mean != nullptr) mean[row] = centre;
      rstd[row] = inverse;
    });
  }

 private:
  template <class Team>
  PPTRAIN_FUNCTION const X* add(const Team& team, std::size_t row) const {
    const X* a = x.row(row);
    const float *b = y.row(row), *constant = bias;
    X* to = sum.row(row);
    if (constant != nullptr) {
      team.for_each(columns,
                    [=](std::size_t c) { store(to[c], float(a[c]) + b[c] + constant[c]); });
    } else {
      team.for_each(columns, [=](std::size_t c) { store(to[c], float(a[c]) + b[c]); });
    }
    return to;
  }
};

/// dx = residual + rstd (g - mean(g) - xhat mean(g xhat)) with g = dnormalised * (gain + unit) and
/// xhat = (x - mean) rstd; RMSNorm's mean(g) has no part in it.
template <class D, class X, class T>
struct NormBackward {
  Rows<const D> dnormalised;
  Rows<const X> x;
  const float *mean, *rstd;  // mean null: RMSNorm
  NormWeights weights;
  Rows<const float> residual;  // data may be null
  Rows<X> dx;
  Rows<T> normalised;  // data may be null
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const D* d = dnormalised.row(row);
    const X* source = x.row(row);
    const float *g = weights.gain, one = weights.unit, centre = mean != nullptr ? mean[row] : 0.0f,
                inverse = rstd[row];
    const auto count = static_cast<float>(columns);
    const float along_one =
        mean != nullptr
            ? team.sum(columns, [=](std::size_t c) { return float(d[c]) * (g[c] + one); }) / count
            : 0.0f;
    const float along_x = team.sum(columns, [=](std::size_t c) {
      return float(d[c]) * (g[c] + one) * ((float(source[c]) - centre) * inverse);
    }) / count;
    if (normalised.data != nullptr)
      weights.apply(team, columns, source, centre, inverse, normalised.row(row));
    const auto gradient = [=](std::size_t c) {
      return inverse * (float(d[c]) * (g[c] + one) - along_one -
                        (float(source[c]) - centre) * inverse * along_x);
    };
    X* to = dx.row(row);
    if (residual.data == nullptr) {
      team.for_each(columns, [=](std::size_t c) { store(to[c], gradient(c)); });
    } else {
      const float* passed = residual.row(row);
      team.for_each(columns, [=](std::size_t c) { store(to[c], passed[c] + gradient(c)); });
    }
  }
};

/// dgain += sum over rows of dnormalised * xhat and, with an offset, doffset += sum over rows of
/// dnormalised, for one column and the next `Count` rows in order. Without a centre, as in RMSNorm,
/// no mean is read.
template <class D, class X, bool centred, bool has_offset>
struct NormParameterGradient {
  Rows<const D> dnormalised;
  Rows<const X> x;
  const float *mean, *rstd;
  float *dgain, *doffset;

  template <std::size_t Count>
  PPTRAIN_FUNCTION void add_rows(std::size_t column, std::size_t first) const {
    float gain_sum = dgain[column], offset_sum = has_offset ? doffset[column] : 0.0f;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Count; ++i) {
      const std::size_t row = first + i;
      const float d = dnormalised.row(row)[column], value = x.row(row)[column];
      gain_sum += d * ((centred ? value - mean[row] : value) * rstd[row]);
      if (has_offset) offset_sum += d;
    }
    dgain[column] = gain_sum;
    if (has_offset) doffset[column] = offset_sum;
  }
};

/// call(centred, has_offset) as compile-time values, from which arrays there are; RMSNorm has no
/// offset.
template <class Call>
void with_norm_form(const float* mean, const float* doffset, const Call& call) {
  if (mean == nullptr) {
    call(std::false_type(), std::false_type());
  } else if (doffset == nullptr) {
    call(std::true_type(), std::false_type());
  } else {
    call(std::true_type(), std::true_type());
  }
}

/// sums[column] += the next `Count` rows in order.
template <class D>
struct ColumnSum {
  Rows<const D> values;
  float* sums;

  template <std::size_t Count>
  PPTRAIN_FUNCTION void add_rows(std::size_t column, std::size_t first) const {
    float sum = sums[column];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Count; ++i)
      sum += static_cast<float>(values.row(first + i)[column]);
    sums[column] = sum;
  }
};

/// sums[column] += the next `Count` rows in order, each of which is converted too.
template <class T>
struct ConvertingColumnSum {
  Rows<const float> values;
  float* sums;
  Rows<T> converted;

  template <std::size_t Count>
  PPTRAIN_FUNCTION void add_rows(std::size_t column, std::size_t first) const {
    float sum = sums[column];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Count; ++i) {
      const float value = values.row(first + i)[column];
      store(converted.row(first + i)[column], value);
      sum += value;
    }
    sums[column] = sum;
  }
};

}  // namespace pptrain::kernels::bodies
