#pragma once

#include <functional>

#include "model/model.hpp"

namespace pptrain {

/// A run of elements of a parameter and where they lie in a file of published weights: element
/// `ours.begin` + i at `theirs` + i * `stride`.
struct LayoutRun {
  Interval ours;
  std::int64_t theirs = 0;
  std::int64_t stride = 1;
};

/// Name of the tensor in a file, which several parameters may be parts of.
const std::string& file_name(const ParameterSpec& spec);
/// Shape of the tensor in a file.
std::vector<std::int64_t> file_shape(const ParameterSpec& spec);

/// Calls `visit` for the runs that the elements [begin, end) of a flattened parameter fall into, in
/// order.
void for_each_run(const ParameterSpec& spec, Interval elements,
                  const std::function<void(const LayoutRun&)>& visit);

}  // namespace pptrain
