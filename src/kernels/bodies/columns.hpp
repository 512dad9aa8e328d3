#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/bodies/row_team.hpp"

/// Columns of a table that stand for several columns of another matrix each.
namespace pptrain::kernels::bodies {

struct SpreadColumns {
  Rows<const float> table;
  const std::int32_t* source;
  Rows<float> out;
  std::size_t columns;  ///< of out

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const float* from = table.row(row);
    const std::int32_t* of = source;
    float* to = out.row(row);
    team.for_each(columns, [=](std::size_t c) { to[c] = from[of[c]]; });
  }
};

struct CollectColumns {
  Rows<const float> x;
  const std::int32_t* source;
  Rows<float> table;
  std::size_t columns, table_columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const float* from = x.row(row);
    const std::int32_t* of = source;
    const std::size_t count = columns;
    float* to = table.row(row);
    team.for_each(table_columns, [=](std::size_t t) {
      float sum = 0;
      for (std::size_t c = 0; c < count; ++c)
        sum += static_cast<std::size_t>(of[c]) == t ? from[c] : 0.0f;
      to[t] = sum;
    });
  }
};

}  // namespace pptrain::kernels::bodies
