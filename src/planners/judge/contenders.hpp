#pragma once

#include <vector>

#include "planners/ask/search_result.hpp"

namespace pptrain {

/// The best few different plans that a search came across, the chosen one first, the others by
/// their simulated iteration: those of other planners and the best of each uniform grid. Plans that
/// differ from a faster one in the layers and devices of their stages alone come last. Only plans
/// that fit. At most `count`, and fewer where there are not so many; empty where the search found
/// no plan.
std::vector<Plan> contenders(const SearchResult& result, const Instance& instance, int count);

}  // namespace pptrain
