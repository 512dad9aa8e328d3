#pragma once

#include <cstddef>

#include "kernels/bodies/row_team.hpp"

/// Bodies called once per element, or per row with a loop over its elements.
namespace pptrain::kernels::bodies {

struct Add {
  const float* x;
  float* y;
  PPTRAIN_FUNCTION void operator()(std::size_t i) const { y[i] += x[i]; }
};

struct Scale {
  float* x;
  float factor;
  PPTRAIN_FUNCTION void operator()(std::size_t i) const { x[i] *= factor; }
};

struct ResidualAdd {
  Rows<const float> x, y;
  const float* bias;  // may be null
  Rows<float> out;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const float *a = x.row(row), *b = y.row(row), *offset = bias;
    float* to = out.row(row);
    if (offset == nullptr) {
      team.for_each(columns, [=](std::size_t c) { to[c] = a[c] + b[c]; });
    } else {
      team.for_each(columns, [=](std::size_t c) { to[c] = a[c] + b[c] + offset[c]; });
    }
  }
};

template <class From, class To>
struct Convert {
  Rows<const From> from;
  Rows<To> to;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const From* source = from.row(row);
    To* target = to.row(row);
    team.for_each(columns, [=](std::size_t c) { store(target[c], static_cast<float>(source[c])); });
  }
};

}  // namespace pptrain::kernels::bodies
