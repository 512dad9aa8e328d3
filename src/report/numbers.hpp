#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace pptrain {

/// Five digits; what is no number is null.
nlohmann::json short_number(double value);
nlohmann::json short_numbers(const std::vector<double>& values);

}  // namespace pptrain
