#include "model/build/file_layout.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// Element of the file with which row `row` of a parameter begins, whose rows are (groups, heads,
/// unit) here and (heads, groups, unit) there.
std::int64_t outside_row(const ParameterSpec& spec, std::int64_t row) {
  const std::int64_t heads = spec.shape[0] / (spec.groups * spec.unit);
  const std::int64_t group = row / (heads * spec.unit);
  const std::int64_t head = row / spec.unit % heads;
  return (head * spec.groups + group) * spec.unit + row % spec.unit;
}

/// Element of the file's tensor with which a parameter begins that is a part of it.
std::int64_t first_of_part(const ParameterSpec& spec) {
  return spec.file_part.first_row * (spec.size() / spec.shape[0]);
}

}  // namespace

const std::string& file_name(const ParameterSpec& spec) {
  return spec.file_part.tensor.empty() ? spec.name : spec.file_part.tensor;
}

std::vector<std::int64_t> file_shape(const ParameterSpec& spec) {
  if (!spec.file_part.tensor.empty()) {
    std::vector<std::int64_t> shape = spec.shape;
    shape.front() = spec.file_part.rows;
    return shape;
  }
  if (!spec.file_shape.empty()) return spec.file_shape;
  if (spec.layout != FileLayout::transposed) return spec.shape;
  return {spec.shape.rbegin(), spec.shape.rend()};
}

void for_each_run(const ParameterSpec& spec, Interval elements,
                  const std::function<void(const LayoutRun&)>& visit) {
  if (!spec.file_part.tensor.empty())
    return visit({elements, first_of_part(spec) + elements.begin});
  if (spec.layout == FileLayout::same || elements.empty()) return visit({elements, elements.begin});
  const std::int64_t columns = spec.shape.size() == 2 ? spec.shape[1] : 1;
  PPTRAIN_ASSERT(spec.shape.size() <= 2, "{} has {} dimensions", spec.name, spec.shape.size());
  for (std::int64_t row = elements.begin / columns; row * columns < elements.end; ++row) {
    const Interval run = intersect(elements, {row * columns, (row + 1) * columns});
    const std::int64_t column = run.begin - row * columns;
    if (spec.layout == FileLayout::transposed) {
      visit({run, column * spec.shape[0] + row, spec.shape[0]});
    } else {
      visit({run, outside_row(spec, row) * columns + column});
    }
  }
}

}  // namespace pptrain
