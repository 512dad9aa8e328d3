#pragma once

#include <cstddef>

#include "kernels/bodies/row_team.hpp"

/// Rotary positions (Su et al., RoFormer, arXiv:2104.09864), with the pairs of Llama: element i of
/// a head and the one half of what is rotated behind it.
namespace pptrain::kernels::bodies {

/// (a, b) becomes (a cos - b sin, b cos + a sin), pair by pair; `back` takes -sin, the transposed
/// matrix.
template <class T>
struct RotatePairs {
  T *first, *second;
  const float *cosines, *sines;
  bool back;
  std::size_t pairs;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team) const {
    T *a = first, *b = second;
    const float *cosine = cosines, *sine = sines;
    const float sign = back ? -1.0f : 1.0f;
    team.for_each(pairs, [=](std::size_t i) {
      const float x = a[i], y = b[i], c = cosine[i], s = sign * sine[i];
      store(a[i], x * c - y * s);
      store(b[i], y * c + x * s);
    });
  }
};

/// All heads of a row, which is position row % sequence_length.
template <class T>
struct Rotate {
  Rows<T> x;
  Rows<const float> table;  // cosines of all pairs, then their sines
  std::size_t sequence_length, heads, head_size, pairs;
  bool back;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const float* of_position = table.row(row % sequence_length);
    for (std::size_t head = 0; head < heads; ++head) {
      T* start = x.row(row) + head * head_size;
      RotatePairs<T>{start, start + pairs, of_position, of_position + pairs, back, pairs}(team);
    }
  }
};

}  // namespace pptrain::kernels::bodies
