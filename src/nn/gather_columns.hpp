#pragma once

#include <vector>

#include "nn/layer.hpp"

namespace pptrain {

/// (R, sum of the parts' sizes) fp32 on every member from its own columns, (R, size of its part)
/// fp32. Collective over the context's group.
Tensor gathered_columns(const LayerContext& context, const std::vector<Interval>& parts,
                        Tensor own);

}  // namespace pptrain
