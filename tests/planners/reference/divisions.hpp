#pragma once

#include <functional>
#include <vector>

#include "base/interval.hpp"

namespace pptrain::reference {

/// Every division of [0, size) into `parts` intervals of at least one, boundaries ascending.
void visit_divisions(int size, int parts,
                     const std::function<void(const std::vector<Interval>&)>& visit);

/// Divisors in ascending order.
std::vector<int> divisors(std::int64_t n);

/// The first size mod parts intervals get one more.
std::vector<Interval> by_count(std::int64_t size, int parts);

}  // namespace pptrain::reference
