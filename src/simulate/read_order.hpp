#pragma once

#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace pptrain {

/// Reads ORDER.json: a list per device of the plan, in stage order, then replica, then shard, of
/// tasks "F0.1", "B0.1", "W0.1" or "BW0.1" (chunk, micro-batch). A B without a W of its own does
/// both. Every task of the device's chunks must be there once, and all devices of a stage must say
/// the same; else throws `Error` (exit code 2).
std::vector<TaskOrder> read_orders(const std::string& path, const Plan& plan);
std::vector<TaskOrder> parse_orders(const std::string& text, const std::string& source,
                                    const Plan& plan);

}  // namespace pptrain
