#pragma once

#include <cstddef>
#include <vector>

namespace pptrain {

/// A series in fewer points: each stands for a run of rows. Rows that are no number count for
/// nothing; a point of such rows alone is no number.
struct ReducedSeries {
  std::vector<double> mean;
  std::vector<double> low;
  std::vector<double> high;
};

/// Rows that one point stands for, so that there are at most `most` points.
std::size_t rows_per_point(std::size_t rows, std::size_t most);

ReducedSeries reduce(const std::vector<double>& rows, std::size_t per_point);

/// The last row of each point, for what stands at the horizontal axis.
template <class T>
std::vector<T> last_of_points(const std::vector<T>& rows, std::size_t per_point) {
  std::vector<T> lasts;
  for (std::size_t begin = 0; begin < rows.size(); begin += per_point) {
    lasts.push_back(
        rows[begin + per_point < rows.size() ? begin + per_point - 1 : rows.size() - 1]);
  }
  return lasts;
}

}  // namespace pptrain
