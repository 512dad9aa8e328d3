#include "report/numbers.hpp"

#include <fmt/format.h>

#include <cmath>

namespace pptrain {

nlohmann::json short_number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return value == 0.0 ? 0.0 : std::stod(fmt::format("{:.5g}", value));
}

nlohmann::json short_numbers(const std::vector<double>& values) {
  nlohmann::json list = nlohmann::json::array();
  for (const double value : values) list.push_back(short_number(value));
  return list;
}

}  // namespace pptrain
