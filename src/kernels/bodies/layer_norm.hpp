#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/bodies/row_team.hpp"

/// LayerNorm (Ba et al., arXiv:1607.06450) of the residual stream, a row at a time.
namespace pptrain::kernels::bodies {

template <class T>
struct ResidualLayerNorm {
  Rows<const float> x, y;  // y.data null: the row of x is normalised as it is
  const float* bias;
  Rows<float> sum;
  const float *gain, *offset;
  Rows<T> normalised;
  float *mean, *rstd;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const float* source = x.row(row);
    if (y.data != nullptr) source = add(team, row);
    const auto count = static_cast<float>(columns);
    const float centre = team.sum(columns, [=](std::size_t c) { return source[c]; }) / count;
    const float variance = team.sum(columns, [=](std::size_t c) {
      const float distance = source[c] - centre;
      return distance * distance;
    }) / count;
    const float inverse = 1.0f / std::sqrt(variance + 1e-5f);
    const float *g = gain, *o = offset;
    T* to = normalised.row(row);
    team.for_each(columns, [=](std::size_t c) { store(to[c], (source[c] - centre) * inverse * g[c] + o[c]); });
    team.once([&] {
      mean[row] = centre;
      rstd[row] = inverse;
    });
  }

 private:
  template <class Team>
  PPTRAIN_FUNCTION const float* add(const Team& team, std::size_t row) const {
    const float *a = x.row(row), *b = y.row(row), *constant = bias;
    float* to = sum.row(row);
    team.for_each(columns, [=](std::size_t c) { to[c] = a[c] + b[c] + constant[c]; });
    return to;
  }
};

/// dx = residual + rstd (g - mean(g) - xhat mean(g xhat)) with g = dnormalised * gain and
/// xhat = (x - mean) rstd.
template <class D, class T>
struct LayerNormBackward {
  Rows<const D> dnormalised;
  Rows<const float> x;
  const float *mean, *rstd, *gain, *offset;
  Rows<const float> residual;  // data may be null
  Rows<float> dx;
  Rows<T> normalised;  // data may be null
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const D* d = dnormalised.row(row);
    const float *source = x.row(row), *g = gain;
    const float centre = mean[row], inverse = rstd[row];
    const auto count = static_cast<float>(columns);
    const float along_one = team.sum(columns, [=](std::size_t c) { return float(d[c]) * g[c]; }) / count;
    const float along_x =
        team.sum(columns, [=](std::size_t c) { return float(d[c]) * g[c] * ((source[c] - centre) * inverse); }) / count;
    if (normalised.data != nullptr) write_normalised(team, row);
    const auto gradient = [=](std::size_t c) {
      return inverse * (float(d[c]) * g[c] - along_one - (source[c] - centre) * inverse * along_x);
    };
    float* to = dx.row(row);
    if (residual.data == nullptr) {
      team.for_each(columns, [=](std::size_t c) { to[c] = gradient(c); });
    } else {
      const float* passed = residual.row(row);
      team.for_each(columns, [=](std::size_t c) { to[c] = passed[c] + gradient(c); });
    }
  }

 private:
  template <class Team>
  PPTRAIN_FUNCTION void write_normalised(const Team& team, std::size_t row) const {
    const float *source = x.row(row), *g = gain, *o = offset;
    const float centre = mean[row], inverse = rstd[row];
    T* to = normalised.row(row);
    team.for_each(columns, [=](std::size_t c) { store(to[c], (source[c] - centre) * inverse * g[c] + o[c]); });
  }
};

/// dgain += sum over rows of dnormalised * xhat and doffset += sum over rows of dnormalised, for one
/// column and the next `Count` rows in order.
template <class D>
struct LayerNormParameterGradient {
  Rows<const D> dnormalised;
  Rows<const float> x;
  const float *mean, *rstd;
  float *dgain, *doffset;

  template <std::size_t Count>
  PPTRAIN_FUNCTION void add_rows(std::size_t column, std::size_t first) const {
    float gain_sum = dgain[column], offset_sum = doffset[column];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Count; ++i) {
      const std::size_t row = first + i;
      const float d = dnormalised.row(row)[column];
      gain_sum += d * ((x.row(row)[column] - mean[row]) * rstd[row]);
      offset_sum += d;
    }
    dgain[column] = gain_sum;
    doffset[column] = offset_sum;
  }
};

/// sums[column] += the next `Count` rows in order.
template <class D>
struct ColumnSum {
  Rows<const D> values;
  float* sums;

  template <std::size_t Count>
  PPTRAIN_FUNCTION void add_rows(std::size_t column, std::size_t first) const {
    float sum = sums[column];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Count; ++i) sum += static_cast<float>(values.row(first + i)[column]);
    sums[column] = sum;
  }
};

}  // namespace pptrain::kernels::bodies
