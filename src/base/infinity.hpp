#pragma once

#include <limits>

namespace pptrain {

/// The time of what cannot be or never comes, and the minimum over nothing.
inline constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace pptrain
