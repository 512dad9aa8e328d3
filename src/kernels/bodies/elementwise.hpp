#pragma once

#include <cstddef>

#include "kernels/bodies/math.hpp"
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
  const float* bias;
  Rows<float> out;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const float *a = x.row(row), *b = y.row(row), *offset = bias;
    float* to = out.row(row);
    team.for_each(columns, [=](std::size_t c) { to[c] = a[c] + b[c] + offset[c]; });
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

template <class T>
struct GeluForward {
  Rows<const T> u;
  Rows<T> out;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const T* from = u.row(row);
    T* to = out.row(row);
    team.for_each(columns, [=](std::size_t c) { store(to[c], gelu(from[c])); });
  }
};

template <class T>
struct GeluBackward {
  Rows<const T> u, dout;
  Rows<T> du, out;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const T *from = u.row(row), *gradient = dout.row(row);
    T *to_gradient = du.row(row), *to = out.row(row);
    team.for_each(columns, [=](std::size_t c) {
      const GeluWithDerivative g = gelu_with_derivative(from[c]);
      store(to_gradient[c], static_cast<float>(gradient[c]) * g.derivative);
      store(to[c], g.value);
    });
  }
};

}  // namespace pptrain::kernels::bodies
