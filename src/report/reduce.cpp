#include "report/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pptrain {

std::size_t rows_per_point(std::size_t rows, std::size_t most) {
  return std::max<std::size_t>(1, (rows + most - 1) / most);
}

ReducedSeries reduce(const std::vector<double>& rows, std::size_t per_point) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  ReducedSeries reduced;
  for (std::size_t begin = 0; begin < rows.size(); begin += per_point) {
    double sum = 0.0;
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    std::size_t count = 0;
    for (std::size_t i = begin; i < std::min(rows.size(), begin + per_point); ++i) {
      if (!std::isfinite(rows[i])) continue;
      sum += rows[i];
      low = std::min(low, rows[i]);
      high = std::max(high, rows[i]);
      ++count;
    }
    reduced.mean.push_back(count == 0 ? none : sum / static_cast<double>(count));
    reduced.low.push_back(count == 0 ? none : low);
    reduced.high.push_back(count == 0 ? none : high);
  }
  return reduced;
}

}  // namespace pptrain
